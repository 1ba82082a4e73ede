import type { ops, Value } from '@ui-rl/graph';
import type { ComponentBase } from './component';

/**
 * Per-token tensors a loss can read besides `logprobs`, each [M] float32: `advantages`; `old_logprobs` (of the policy that
 * sampled, or of the proximal policy where a correction has one); `sample_logprobs` (of the policy that sampled); `reference_logprobs`
 * (of the base model, adapter off); `values` (of the critic before the step) and `returns`.
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

/** Which model a loss is for: the one that acts, or the one that says what its states are worth. */
export type LossModel = 'policy' | 'critic';

/** What one loss value belongs to: a token, a sequence, or a pair of a chosen and a rejected sequence. */
export type LossScope = 'token' | 'sequence' | 'pair';

/** Moves per-token values [M] to sequences [S] and back. */
export interface SequenceOps {
  /** [M] → [S], sums over the trained tokens of each sequence. */
  sum(perToken: Value): Value;
  /** [M] → [S], means. */
  mean(perToken: Value): Value;
  /** [S] → [M], each token gets its sequence's value. */
  spread(perSequence: Value): Value;
}

/** Picks the sides of pairs: [S] → [P]. */
export interface PairOps {
  chosen(perSequence: Value): Value;
  rejected(perSequence: Value): Value;
}

/** What a loss is built from; M trained tokens, S sequences, P pairs of one pass. */
export interface LossTerms {
  /** The operations of graphs; no import is needed. */
  ops: typeof ops;
  /** A number as a float32 scalar of this graph. */
  scalar(value: number): Value;
  /** [M] log π_θ of the trained tokens; what the loss of a policy is differentiated by. Absent for a critic. */
  logprobs: Value;
  /** [M] values of the states before the trained tokens; what the loss of a critic is differentiated by. Absent for a policy. */
  predictions: Value;
  /** [M] entropy of the distribution at each trained token, differentiable. Computed where it is asked for. Not for a critic. */
  entropy(): Value;
  /** [M] what the loss declared. Anything else is absent. */
  inputs: Readonly<Record<LossInput, Value>>;
  /** Only where the scope is `sequence` or `pair`. */
  sequences: SequenceOps;
  /** Only where the scope is `pair`. */
  pairs: PairOps;
}

export interface LossValues {
  /**
   * One loss per token [M], sequence [S] or pair [P], as the scope says. The engine adds them up with weights: a token has the
   * weight of its datum's `weights`, a sequence or pair the sum of its tokens' weights.
   */
  loss: Value;
  /** Name → one number per token, sequence or pair; their mean is published as `loss/<name>`. */
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
  /** Which model it is for. Default `policy`; that of a critic has the scope `token`. */
  readonly trains?: LossModel;
  /** Tokens whose advantage is 0 have no gradient: data without any other need no pass. Default false. */
  readonly skipsZeroAdvantages?: boolean;
  /** Advantage estimator of runs that name none. Default: the one of the run file's default. */
  readonly defaultAdvantage?: string;
}
