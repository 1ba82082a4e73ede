import type { ops as Ops, Value } from '@ui-rl/graph';

/** The clip range of a ratio. */
export interface ClipRange {
  /** Lower bound: 1 − clip_low. */
  clip_low: number;
  /** Upper bound: 1 + clip_high. */
  clip_high: number;
  /** Upper bound of the loss for a negative advantage, as a multiple of the advantage's magnitude. */
  dual_clip?: number | undefined;
}

/** The operands of a clipped loss: as many ratios as advantages. */
export interface Surrogate {
  ops: typeof Ops;
  ratio: Value;
  advantages: Value;
}

/** −min(r·A, clip(r, 1 − clip_low, 1 + clip_high)·A); with a dual clip c at most −c·A for A < 0. */
export function clippedLoss(
  { clip_low, clip_high, dual_clip }: ClipRange,
  { ops, ratio, advantages }: Surrogate,
): Value {
  const clipped = ops.max(ops.min(ratio, 1 + clip_high), 1 - clip_low);
  const loss = ops.neg(ops.min(ops.mul(ratio, advantages), ops.mul(clipped, advantages)));
  if (dual_clip === undefined) return loss;
  const bounded = ops.min(loss, ops.neg(ops.mul(advantages, dual_clip)));
  return ops.where(ops.less(advantages, 0), bounded, loss);
}

/** 1 if clipping removes the gradient, that is, if the clipped branch is the smaller one; otherwise 0. */
export function isClipped(
  { clip_low, clip_high, dual_clip }: ClipRange,
  { ops, ratio, advantages }: Surrogate,
): Value {
  const above = ops.and(ops.greater(advantages, 0), ops.greater(ratio, 1 + clip_high));
  const low = ops.less(ratio, 1 - clip_low);
  const outside = dual_clip === undefined ? low : ops.or(low, ops.greater(ratio, dual_clip));
  return ops.cast(ops.or(above, ops.and(ops.less(advantages, 0), outside)), 'float32');
}
