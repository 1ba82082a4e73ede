import type { ops, Value } from '@ui-rl/graph';
import type { ComponentBase } from './component';

/**
 * Per-token tensors that a loss can read besides `logprobs`, each [M] float32: `advantages`; `old_logprobs` (of the
 * policy that sampled, or of the proximal policy if a correction has one); `sample_logprobs` (of the policy that
 * sampled); `reference_logprobs` (of the base model, adapter off); `values` (of the critic before the step) and
 * `returns`.
 */
export const LOSS_INPUTS = [
  'advantages',
  'old_logprobs',
  'sample_logprobs',
  'reference_logprobs',
  'values',
  'returns',
] as const;
export type LossInput = (typeof LOSS_INPUTS)[number];

/** The model that a loss trains: the policy, or the critic that predicts values of its states. */
export type LossModel = 'policy' | 'critic';

/** The unit of a loss value: a token, a sequence, or a pair of a chosen and a rejected sequence. */
export type LossScope = 'token' | 'sequence' | 'pair';

/** Maps per-token values [M] to sequences [S] and back. */
export interface SequenceOps {
  /** [M] → [S], sums over the trained tokens of each sequence. */
  sum(perToken: Value): Value;
  /** [M] → [S], means. */
  mean(perToken: Value): Value;
  /** [S] → [M], copies each sequence's value to its tokens. */
  spread(perSequence: Value): Value;
}

/** Selects the sides of pairs: [S] → [P]. */
export interface PairOps {
  chosen(perSequence: Value): Value;
  rejected(perSequence: Value): Value;
}

/** Building blocks of a loss; M trained tokens, S sequences, P pairs of one pass. */
export interface LossTerms {
  /** The graph operations; no import is needed. */
  ops: typeof ops;
  /** A number as a float32 scalar of this graph. */
  scalar(value: number): Value;
  /** [M] log π_θ of the trained tokens, by which the loss of a policy is differentiated. Undefined for a critic. */
  logprobs: Value;
  /**
   * [M] values of the states before the trained tokens, by which the loss of a critic is differentiated. Undefined
   * for a policy.
   */
  predictions: Value;
  /** [M] entropy of the distribution at each trained token, differentiable. Computed on demand. Not for a critic. */
  entropy(): Value;
  /** [M] the inputs that the loss declares; all others are missing. */
  inputs: Readonly<Record<LossInput, Value>>;
  /** Only with scope `sequence` or `pair`. */
  sequences: SequenceOps;
  /** Only with scope `pair`. */
  pairs: PairOps;
}

export interface LossValues {
  /**
   * One loss per token [M], sequence [S] or pair [P], according to the scope. The engine computes the weighted sum: a
   * token has the weight of its datum's `weights`, a sequence or pair the sum of its tokens' weights.
   */
  loss: Value;
  /** Name → one number per token, sequence or pair; the mean is published as `loss/<name>`. */
  metrics?: Readonly<Record<string, Value>>;
}

export interface PolicyLoss {
  build(terms: LossTerms): LossValues;
}

export interface PolicyLossComponent<Options = unknown> extends ComponentBase<
  'policy-loss',
  Options,
  Record<string, never>,
  PolicyLoss
> {
  readonly inputs: readonly LossInput[];
  readonly scope: LossScope;
  /** The model that it trains. Default `policy`; a loss of the critic has the scope `token`. */
  readonly trains?: LossModel;
  /**
   * Whether tokens with advantage 0 have no gradient, so that data without other tokens need no pass. Default false.
   */
  readonly skipsZeroAdvantages?: boolean;
  /** Default advantage estimator of runs with this loss. Default: the run file's default. */
  readonly defaultAdvantage?: string;
}
