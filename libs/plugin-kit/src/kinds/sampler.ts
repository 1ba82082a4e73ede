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
  /** The token in the places of images. */
  imageTokenId: number;
  /** Conversations of text alone, as token ids, to compare log-probabilities on: the same each time. */
  probes(): readonly (readonly number[])[];
  /** A screenshot's PNG by hash; null where nobody has it any more. */
  fetchImage(sha256: string): Promise<Uint8Array | null>;
  /** What a server wants to be shown, by its address: from the environment of the service, never from a run file. */
  apiKeyOf(address: string): string | undefined;
  /** Whether answers may depend on nothing but request and weights, bit for bit; default false. */
  deterministic?: boolean;
  /** Processes of the service `sampler`; absent where nothing connects them with this engine. */
  processes?: SamplerProcesses;
  log: Log;
}

/** How processes of the service `sampler` are reached. What one of them or the network does wrong is a value. */
export interface SamplerProcesses {
  /** Aborts once nothing is to be waited for: the run is over, another learner has taken over, or this one ends. */
  readonly over: AbortSignal;
  /** Tells those who follow the run. */
  warn(message: string): void;
  /** Answers what they report, until the sampler stops. */
  answer(
    report: (report: SamplerReport) => Promise<Pick<SamplerOrders, 'wanted' | 'probes' | 'refused'>>,
  ): void;
  /**
   * Asks one of them. Codes: `bad_request` (no other would answer it otherwise), `unknown_weights`, `no_responders`, `disconnected`,
   * `timeout`, `stopping`, `internal` …
   * @param id of this attempt
   * @param request `model` is the digest of its weights
   */
  sample(
    process: string,
    id: string,
    request: SampleRequest,
    timeoutMs: number,
  ): Promise<Reply<SampleResult>>;
  /** Nobody waits for that attempt any more. */
  cancel(process: string, id: string): void;
  /** See `Engine.moveSamples`; weights by their digests. */
  move(process: string, weights: { from: string; to: string }): Promise<Reply<unknown>>;
  /** Puts the adapter of a folder where processes find it by its digest. */
  store(digest: string, dir: string): Promise<void>;
  /** Frees what `store` has put there. */
  remove(digest: string): Promise<void>;
  stop(): Promise<void>;
}

/** What is asked of the policy, and where it comes from. */
export interface SamplerRequest extends SampleRequest {
  /** Requests of one episode have the same: a sampler of several servers keeps them on one. */
  episode?: string;
  /** What the prompt was made from, for samplers that have to make it again: its tokens must come out the same. */
  conversation?: Conversation;
}

export interface Conversation {
  messages: readonly ConversationMessage[];
  /** JSON schemas, as the chat template is given them. */
  tools?: readonly object[];
}

export interface ConversationMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: readonly ({ type: 'text'; text: string } | { type: 'image'; sha256: string })[];
  toolCalls?: readonly { name: string; arguments: string }[];
}

/** Where the policy is sampled from: by the engine that trains, or by processes of their own. */
export interface Sampler {
  /** Weights of `saveWeightsForSampler` that can be sampled from now on. Resolves once every sampler has them. */
  publish(weights: string): Promise<void>;
  /** `request.model` names published weights. */
  sample(request: SamplerRequest): Promise<SampleResult>;
  /** What is `movable` and sampled with `from` goes on with `to`, see `Engine.moveSamples`. Samplers that cannot do that do not have it. */
  move?(from: string, to: string): Promise<void>;
  /** No request will name these weights any more: they are released, in the engine, too. What is being sampled with them ends normally. */
  retire(weights: string): Promise<void>;
  stop(): Promise<void>;
}

export type SamplerComponent<Options = unknown> = ComponentBase<
  'sampler',
  Options,
  SamplerContext,
  Promise<Sampler>
>;
