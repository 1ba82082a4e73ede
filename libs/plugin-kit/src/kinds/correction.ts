import type { ComponentBase } from './component';

/** One turn of N sampled tokens. */
export interface CorrectionInput {
  /** [N] under the policy that sampled. */
  sampleLogprobs: Float32Array;
  /** [N] under the policy before the first optimizer step of this batch, recomputed by the trainer. */
  proximalLogprobs: Float32Array;
}

/** Weights tokens that another policy (an older one, another engine) sampled. */
export interface Correction {
  /**
   * Receives all turns of an episode with trained tokens, in order, including turns that are not trained (without an
   * advantage, too old). Returns factors [N] on the weights of their tokens; 0 excludes a token from the step.
   */
  weights(turns: readonly CorrectionInput[]): Float32Array[];
}

/**
 * Off-policy weights. With a correction other than `none`, the learner recomputes log-probabilities of the batch
 * before the step; ratios (`old_logprobs` of losses) refer to these.
 */
export interface CorrectionComponent<Options = unknown> extends ComponentBase<
  'correction',
  Options,
  Record<string, never>,
  Correction | null
> {}
