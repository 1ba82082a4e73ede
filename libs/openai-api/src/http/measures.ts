import { Counter, Gauge, Histogram } from 'prom-client';
import { apiErrorOf } from '../errors';
import type { AnswerListener, PolicyAnswer, PolicyRequest, ServedPolicy } from '../policy';

/** A metric of the endpoint, for Prometheus. */
export interface EndpointMetric {
  name: string;
  labels: readonly string[];
  meaning: string;
}

const REQUEST = ['gen_ai_operation_name', 'http_route', 'gen_ai_request_model', 'api_key'] as const;
const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * Metric names of OpenTelemetry's semantic conventions for generative AI in Prometheus spelling, where they exist;
 * else those of vLLM with the prefix `uirl_endpoint_`. Labels have few values: keys by index, unknown model names as
 * `other`.
 */
export const ENDPOINT_METRICS = {
  duration: {
    name: 'gen_ai_server_request_duration_seconds',
    labels: [...REQUEST, 'error_type'],
    meaning: 'histogram: from a request to the end of its answer; `error_type` is empty, or why it failed',
  },
  firstToken: {
    name: 'gen_ai_server_time_to_first_token_seconds',
    labels: REQUEST,
    meaning:
      'histogram: from a request to its first token, where the policy is sampled by the learner itself',
  },
  perToken: {
    name: 'gen_ai_server_time_per_output_token_seconds',
    labels: REQUEST,
    meaning: 'histogram: time of a token after the first one, mean over an answer',
  },
  queue: {
    name: 'uirl_endpoint_request_queue_time_seconds',
    labels: REQUEST,
    meaning:
      'histogram: from a request until the prefill of its prompt begins; until then other requests use the device',
  },
  promptTokens: {
    name: 'uirl_endpoint_prompt_tokens_total',
    labels: ['gen_ai_request_model', 'api_key'],
    meaning: 'tokens of prompts, one prompt with several answers counted once for each',
  },
  generatedTokens: {
    name: 'uirl_endpoint_generation_tokens_total',
    labels: ['gen_ai_request_model', 'api_key'],
    meaning: 'tokens of answers',
  },
  running: {
    name: 'uirl_endpoint_num_requests_running',
    labels: [],
    meaning: 'requests in progress',
  },
  sockets: {
    name: 'uirl_endpoint_websockets',
    labels: [],
    meaning: 'WebSockets that are open',
  },
  refused: {
    name: 'uirl_endpoint_refused_total',
    labels: ['error_type'],
    meaning: 'refused requests: no key, unknown path, body too long …',
  },
} as const satisfies Record<string, EndpointMetric>;

const duration = histogram(ENDPOINT_METRICS.duration);
const firstToken = histogram(ENDPOINT_METRICS.firstToken);
const perToken = histogram(ENDPOINT_METRICS.perToken);
const queue = histogram(ENDPOINT_METRICS.queue);
const promptTokens = counter(ENDPOINT_METRICS.promptTokens);
const generatedTokens = counter(ENDPOINT_METRICS.generatedTokens);
const refusals = counter(ENDPOINT_METRICS.refused);
const running = gauge(ENDPOINT_METRICS.running);
const sockets = gauge(ENDPOINT_METRICS.sockets);

function histogram({ name, labels, meaning }: EndpointMetric): Histogram {
  return new Histogram({ name, help: meaning, labelNames: [...labels], buckets: SECONDS });
}

function counter({ name, labels, meaning }: EndpointMetric): Counter {
  return new Counter({ name, help: meaning, labelNames: [...labels] });
}

function gauge({ name, meaning }: EndpointMetric): Gauge {
  return new Gauge({ name, help: meaning });
}

/** Routes, and OpenTelemetry's names of their operations. */
export const ROUTES = {
  chat: { http_route: '/v1/chat/completions', gen_ai_operation_name: 'chat' },
  completions: { http_route: '/v1/completions', gen_ai_operation_name: 'text_completion' },
  responses: { http_route: '/v1/responses', gen_ai_operation_name: 'chat' },
  compact: { http_route: '/v1/responses/compact', gen_ai_operation_name: 'compact' },
  messages: { http_route: '/v1/messages', gen_ai_operation_name: 'chat' },
  countTokens: { http_route: '/v1/messages/count_tokens', gen_ai_operation_name: 'count_tokens' },
} as const;

export type Route = keyof typeof ROUTES;

/** Models that have answered under their own names. A run has one or two. */
const baseModels = new Set<string>();
const MAX_MODELS = 16;
/** Failures that were already counted with their requests. */
const counted = new WeakSet<object>();

/** Counts a request that reached no policy. */
export function countRefusal(error: unknown): void {
  if (typeof error === 'object' && error !== null && counted.has(error)) return;
  refusals.inc({ error_type: errorTypeOf(error) });
}

export function countSocket(change: 1 | -1): void {
  sockets.inc(change);
}

/** Measurements of one request. */
export class RequestMeasure {
  private readonly since = performance.now();
  private model = 'other';
  private failure: unknown;
  private hasBegun = false;

  constructor(
    private readonly route: Route,
    private readonly apiKey: string,
  ) {
    running.inc();
  }

  /** A policy that records measurements. */
  over(policy: ServedPolicy): ServedPolicy {
    return {
      computer: policy.computer,
      models: () => policy.models(),
      countTokens: (prompt) => policy.countTokens(prompt),
      ...(policy.fits === undefined ? {} : { fits: policy.fits.bind(policy) }),
      answer: (request, listener) => this.answer(policy, request, listener),
    };
  }

  end(error?: unknown): void {
    const failure = error ?? this.failure;
    if (typeof failure === 'object' && failure !== null) counted.add(failure);
    running.dec();
    duration.observe(
      { ...this.labels, error_type: failure === undefined ? '' : errorTypeOf(failure) },
      secondsSince(this.since),
    );
  }

  private async answer(
    policy: ServedPolicy,
    request: PolicyRequest,
    listener?: AnswerListener,
  ): Promise<PolicyAnswer> {
    this.model = modelOf(request.model);
    let first: number | undefined;
    const told: AnswerListener = {
      begins: (head) => listener?.begins(head),
      isRead: () => queue.observe(this.labels, secondsSince(this.since)),
      isSampled: () => (first ??= this.began()),
      token: (token) => listener?.token(token),
    };
    try {
      const answer = await policy.answer(request, told);
      this.model = modelOf(request.model, true);
      // A retry with a shorter prompt may succeed after a longer one failed.
      this.failure = undefined;
      this.count(answer, first);
      return answer;
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  /** Records the start of the answer. */
  private began(): number {
    if (!this.hasBegun) firstToken.observe(this.labels, secondsSince(this.since));
    this.hasBegun = true;
    return performance.now();
  }

  private count({ promptTokenIds, tokens }: PolicyAnswer, first: number | undefined): void {
    const { gen_ai_request_model, api_key } = this.labels;
    promptTokens.inc({ gen_ai_request_model, api_key }, promptTokenIds.length);
    generatedTokens.inc({ gen_ai_request_model, api_key }, tokens.length);
    if (first !== undefined && tokens.length > 1)
      perToken.observe(this.labels, secondsSince(first) / (tokens.length - 1));
  }

  private get labels() {
    return { ...ROUTES[this.route], gen_ai_request_model: this.model, api_key: this.apiKey };
  }
}

/** @param answered whether the model has answered: an unknown name may be any text */
function modelOf(name: string, answered = false): string {
  if (name === 'latest') return name;
  if (name.startsWith('uirl://')) return 'checkpoint';
  if (answered && baseModels.size < MAX_MODELS) baseModels.add(name);
  return baseModels.has(name) ? name : 'other';
}

function errorTypeOf(error: unknown): string {
  const { code, type } = apiErrorOf(error);
  return code ?? type;
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000;
}
