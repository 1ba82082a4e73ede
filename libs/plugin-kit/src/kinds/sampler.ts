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
  log: Log;
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
