import type { ModelInput, ModelName, SampleRequest, SampleResult, WeightsInfo } from '@ui-rl/plugin-kit';
import { isRecord } from '@ui-rl/plugin-kit';
import type { Connection } from './connection';
import { wireInput, type FetchImage } from './data';
import { TinkerError } from './errors';
import { textOf } from './session';

/** Source to sample from: saved weights by address, or the base model. */
export type SampledSource = { path: string } | { base: true };

interface OpenWeights {
  source: SampledSource;
  weights: WeightsInfo;
  session: string;
  /** Sequence number of the next request. */
  next: number;
  /** Requests in progress. */
  requests: number;
}

/** Weights available for sampling, each with a sampling session of the service. */
export class Sampled {
  private readonly known = new Map<ModelName, OpenWeights>();
  /** Weights without a name that still have requests in progress. */
  private readonly leaving = new Set<OpenWeights>();
  private sessions = 0;

  constructor(
    private readonly connection: Connection,
    private readonly session: string,
    private readonly baseModel: string,
    private readonly fetchImage: FetchImage,
    /** Stop tokens added to every request: services do not know the model's end-of-turn token. */
    private readonly endTokenIds: readonly number[],
    /** Called when weights are no longer sampled from. */
    private readonly onIdle: () => void,
  ) {}

  get names(): ModelName[] {
    return [...this.known.keys()].filter((name) => name !== 'base');
  }

  /** Names of the weights with a digest. */
  namesOf(digest: string): ModelName[] {
    return [...this.known].flatMap(([name, { weights }]) => (weights.digest === digest ? [name] : []));
  }

  /** Whether weights at this address are in use. */
  uses(path: string): boolean {
    return [...this.known.values(), ...this.leaving].some(
      ({ source }) => 'path' in source && source.path === path,
    );
  }

  has(name: ModelName): boolean {
    return this.known.has(name);
  }

  /** @throws TinkerError `request` */
  find(name: ModelName): OpenWeights {
    const found = this.known.get(name);
    if (found !== undefined) return found;
    throw new TinkerError(
      'request',
      `there is no model "${name}"; known: ${['policy', 'base', ...this.names].join(', ')}`,
    );
  }

  /** Binds a name to weights. */
  async open(name: ModelName, source: SampledSource, weights: WeightsInfo): Promise<WeightsInfo> {
    const from = 'base' in source ? { base_model: this.baseModel } : { model_path: source.path };
    const answer = await this.connection.post('create_sampling_session', {
      session_id: this.session,
      sampling_session_seq_id: this.sessions++,
      ...from,
      type: 'create_sampling_session',
    });
    const old = this.known.get(name);
    const session = textOf(answer, 'sampling_session_id');
    this.known.set(name, { source, weights, session, next: 0, requests: 0 });
    if (old !== undefined) this.leave(old);
    return weights;
  }

  /** Requests in progress finish normally. */
  release(name: ModelName): void {
    const found = this.known.get(name);
    this.known.delete(name);
    if (found !== undefined) this.leave(found);
  }

  private leave(weights: OpenWeights): void {
    if (weights.requests > 0) this.leaving.add(weights);
    else this.onIdle();
  }

  async sample(name: ModelName, request: SampleRequest): Promise<SampleResult> {
    const { maxTokens, temperature, seed, stop = [], signal } = request;
    const weights = this.find(name);
    const ends = [...new Set([...this.endTokenIds, ...stop])];
    request.onBegin?.();
    const answer = await this.ask(weights, request.prompt, signal, {
      max_tokens: maxTokens,
      temperature,
      seed,
      ...(ends.length === 0 ? {} : { stop: ends }),
    });
    const [sequence] = Array.isArray(answer.sequences) ? (answer.sequences as unknown[]) : [];
    if (!isRecord(sequence) || !isNumbers(sequence.tokens) || !isNumbers(sequence.logprobs)) {
      throw new TinkerError('worker', 'the service answered no tokens with their log-probabilities');
    }
    const { tokens, logprobs, stop_reason } = sequence;
    if (logprobs.length !== tokens.length) {
      throw new TinkerError(
        'worker',
        `the service answered ${tokens.length} tokens with ${logprobs.length} log-probabilities`,
      );
    }
    tokens.forEach((token, place) => request.onToken?.(token, logprobs[place]));
    return {
      tokens,
      logprobs,
      stopReason: stop_reason === 'length' ? 'length' : 'stop',
      digest: weights.weights.digest,
    };
  }

  /** The service's log-probabilities of an input's tokens and the one after it, unchecked. */
  async promptLogprobs(name: ModelName, { chunks }: ModelInput, last: number): Promise<unknown[]> {
    const weights = this.find(name);
    const prompt = { chunks: [...chunks, { type: 'text' as const, tokens: [last] }] };
    const answer = await this.ask(
      weights,
      prompt,
      undefined,
      { max_tokens: 1, temperature: 1, seed: 0 },
      true,
    );
    if (Array.isArray(answer.prompt_logprobs)) return answer.prompt_logprobs;
    throw new TinkerError(
      'request',
      `${this.connection.address} does not say how likely a prompt was (prompt_logprobs), which a teacher and a comparison with the base model need`,
    );
  }

  private async ask(
    weights: OpenWeights,
    prompt: ModelInput,
    signal: AbortSignal | undefined,
    sampling_params: object,
    prompt_logprobs = false,
  ): Promise<Record<string, unknown>> {
    const seq_id = weights.next++;
    weights.requests += 1;
    try {
      const body = {
        sampling_session_id: weights.session,
        seq_id,
        num_samples: 1,
        prompt: await wireInput(prompt, this.fetchImage),
        sampling_params,
        ...(prompt_logprobs ? { prompt_logprobs } : {}),
        type: 'sample',
      };
      return await this.connection.result('asample', body, signal);
    } finally {
      weights.requests -= 1;
      if (weights.requests === 0 && this.leaving.delete(weights)) this.onIdle();
    }
  }
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}
