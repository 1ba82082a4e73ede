import { IsOptional, Max } from 'class-validator';
import { Above, Doc, type LossTerms, type PolicyLossComponent } from '@ui-rl/plugin-kit';
import type { Value } from '@ui-rl/graph';

export class PpoOptions {
  @Doc('the ratio is clipped below at 1 - clip_low')
  @Above(0)
  @Max(1)
  clip_low = 0.2;

  @Doc('the ratio is clipped above at 1 + clip_high; "clip-higher" is 0.28')
  @Above(0)
  clip_high = 0.2;

  @Doc('where the advantage is negative, the loss is at most so many times its size; off unless given')
  @IsOptional()
  @Above(1)
  dual_clip?: number;
}

/**
 * −min(r·A, clip(r, 1 − clip_low, 1 + clip_high)·A), Schulman et al. 2017, eq. 7; with a dual clip c at most −c·A where A < 0,
 * Ye et al. 2020, eq. 5.
 */
export const ppo: PolicyLossComponent<PpoOptions> = {
  kind: 'policy-loss',
  name: 'ppo',
  description:
    'The probability ratio times the advantage, without a reason to move the ratio beyond its clip range.',
  options: PpoOptions,
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  skipsZeroAdvantages: true,
  create: (options) => ({
    build(terms) {
      const ratio = terms.ops.exp(terms.ops.sub(terms.logprobs, terms.inputs.old_logprobs));
      return {
        loss: clippedLoss(options, terms, ratio),
        metrics: { clip_fraction: isClipped(options, terms, ratio) },
      };
    },
  }),
};

function clippedLoss(
  { clip_low, clip_high, dual_clip }: PpoOptions,
  { ops, inputs }: LossTerms,
  ratio: Value,
): Value {
  const { advantages } = inputs;
  const clipped = ops.max(ops.min(ratio, 1 + clip_high), 1 - clip_low);
  const loss = ops.neg(ops.min(ops.mul(ratio, advantages), ops.mul(clipped, advantages)));
  if (dual_clip === undefined) return loss;
  const bounded = ops.min(loss, ops.neg(ops.mul(advantages, dual_clip)));
  return ops.where(ops.less(advantages, 0), bounded, loss);
}

/** [M] 1 where clipping takes the token's gradient away, that is, where the clipped branch is the smaller one; 0 elsewhere. */
function isClipped(
  { clip_low, clip_high, dual_clip }: PpoOptions,
  { ops, inputs }: LossTerms,
  ratio: Value,
): Value {
  const { advantages } = inputs;
  const above = ops.and(ops.greater(advantages, 0), ops.greater(ratio, 1 + clip_high));
  const low = ops.less(ratio, 1 - clip_low);
  const outside = dual_clip === undefined ? low : ops.or(low, ops.greater(ratio, dual_clip));
  return ops.cast(ops.or(above, ops.and(ops.less(advantages, 0), outside)), 'float32');
}
