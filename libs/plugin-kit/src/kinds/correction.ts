import type { ComponentBase } from './component';

/** One turn, N sampled tokens. */
export interface CorrectionInput {
  /** [N] under the policy that sampled. */
  sampleLogprobs: Float32Array;
  /** [N] under the policy as it was before the first optimizer step of this step's batch, recomputed by the trainer. */
  proximalLogprobs: Float32Array;
}

/** What is done about tokens that another policy (an older one, another engine) sampled. */
export interface Correction {
  /**
   * For an episode of which something is trained, all turns as they were sampled, in order, also those that are not trained themselves (without
   * an advantage, too old): factors [N] each on the weights of their tokens; 0 masks a token, which then takes no part in the step.
   */
  weights(turns: readonly CorrectionInput[]): Float32Array[];
}

/**
 * Off-policy weights. With a correction other than `none`, the learner recomputes log-probabilities of the batch before the step;
 * they are what ratios (`old_logprobs` of losses) compare with.
 */
export interface CorrectionComponent<Options = unknown> extends ComponentBase<
  'correction',
  Options,
  Record<string, never>,
  Correction | null
> {}
