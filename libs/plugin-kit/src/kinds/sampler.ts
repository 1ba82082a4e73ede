import type { Reply, SamplerOrders, SamplerReport } from '@ui-rl/contracts';
import type { ComponentBase, Log } from './component';
import type { Engine, SampleRequest, SampleResult } from './engine';

export interface SamplerContext {
  /** The engine that trains. */
  engine: Engine;
  /** The run whose policy is sampled. */
  runId: string;
  /** Folder of this service for weights that other processes read. */
  sharedDir: string;
  /** Placeholder token of images. */
  imageTokenId: number;
  /** Text-only conversations as token ids, on which to compare log-probabilities; always the same. */
  probes(): readonly (readonly number[])[];
  /** A screenshot's PNG by hash; null if it is no longer available. */
  fetchImage(sha256: string): Promise<Uint8Array | null>;
  /** API key of a server, by its address: from the environment of the service, never from a run file. */
  apiKeyOf(address: string): string | undefined;
  /** Whether answers must depend only on request and weights, bitwise. Default false. */
  deterministic?: boolean;
  /** Processes of the `sampler` service; undefined if they cannot be reached. */
  processes?: SamplerProcesses;
  log: Log;
}

/** Access to processes of the `sampler` service. Failures of a process or of the network are values. */
export interface SamplerProcesses {
  /** Aborts when the run is over, another learner has taken over, or this learner stops. */
  readonly over: AbortSignal;
  /** Publishes a warning to observers of the run. */
  warn(message: string): void;
  /** Answers their reports until the sampler stops. */
  answer(
    report: (report: SamplerReport) => Promise<Pick<SamplerOrders, 'wanted' | 'probes' | 'refused'>>,
  ): void;
  /**
   * Sends a request to one process. Codes: `bad_request` (every process would reject it), `unknown_weights`,
   * `no_responders`, `disconnected`, `timeout`, `stopping`, `internal` …
   * @param id of this attempt
   * @param request `model` is the digest of its weights
   */
  sample(
    process: string,
    id: string,
    request: SampleRequest,
    timeoutMs: number,
  ): Promise<Reply<SampleResult>>;
  /** Cancels an attempt. */
  cancel(process: string, id: string): void;
  /** See `Engine.moveSamples`; weights by their digests. */
  move(process: string, weights: { from: string; to: string }): Promise<Reply<unknown>>;
  /** Stores the adapter of a folder where processes find it by its digest. */
  store(digest: string, dir: string): Promise<void>;
  /** Removes an adapter of `store`. */
  remove(digest: string): Promise<void>;
  stop(): Promise<void>;
}

/** A request to the policy, with its origin. */
export interface SamplerRequest extends SampleRequest {
  /** Equal for requests of one episode: a sampler with several servers routes them to one. */
  episode?: string;
  /** The source of the prompt, for samplers that render it again; their tokens must be the same. */
  conversation?: Conversation;
}

export interface Conversation {
  messages: readonly ConversationMessage[];
  /** JSON schemas that the chat template receives. */
  tools?: readonly object[];
}

export interface ConversationMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: readonly ({ type: 'text'; text: string } | { type: 'image'; sha256: string })[];
  toolCalls?: readonly { name: string; arguments: string }[];
}

/** Samples the policy: on the engine that trains, or in separate processes. */
export interface Sampler {
  /** Makes weights of `saveWeightsForSampler` available for sampling. Resolves once every sampler has them. */
  publish(weights: string): Promise<void>;
  /** `request.model` names published weights. */
  sample(request: SamplerRequest): Promise<SampleResult>;
  /** Continues `movable` samples of `from` with `to`, see `Engine.moveSamples`. Optional. */
  move?(from: string, to: string): Promise<void>;
  /**
   * Releases weights that no further request will name, in the engine, too. Samples in progress complete normally.
   */
  retire(weights: string): Promise<void>;
  stop(): Promise<void>;
}

export type SamplerComponent<Options = unknown> = ComponentBase<
  'sampler',
  Options,
  SamplerContext,
  Promise<Sampler>
>;
