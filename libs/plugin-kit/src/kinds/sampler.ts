import type { ComponentBase, Log } from './component';
import type { Engine, SampleRequest, SampleResult } from './engine';

export interface SamplerContext {
  /** The engine that trains. */
  engine: Engine;
  log: Log;
}

/** Where the policy is sampled from: by the engine that trains, or by processes of their own. */
export interface Sampler {
  /** Weights of `saveWeightsForSampler` that can be sampled from now on. Resolves once every sampler has them. */
  publish(weights: string): Promise<void>;
  /** `request.model` names published weights. */
  sample(request: SampleRequest): Promise<SampleResult>;
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
