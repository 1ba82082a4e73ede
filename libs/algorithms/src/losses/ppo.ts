import { IsOptional, Max } from 'class-validator';
import { Above, Doc, type PolicyLossComponent } from '@ui-rl/plugin-kit';
import { clippedLoss, isClipped, type ClipRange } from './clipped';

export class PpoOptions {
  @Doc('the ratio is clipped below at 1 - clip_low')
  @Above(0)
  @Max(1)
  clip_low = 0.2;

  @Doc('the ratio is clipped above at 1 + clip_high; "clip-higher" is 0.28')
  @Above(0)
  clip_high = 0.2;

  @Doc('sets clip_low and clip_high to the same value')
  @IsOptional()
  @Above(0)
  @Max(1)
  clip_epsilon?: number;

  @Doc('dual-clip bound: maximum of loss / |advantage| for negative advantages; default: none')
  @IsOptional()
  @Above(1)
  dual_clip?: number;
}

/**
 * −min(r·A, clip(r, 1 − clip_low, 1 + clip_high)·A), Schulman et al. 2017, eq. 7; with a dual clip c at most −c·A for
 * A < 0, Ye et al. 2020, eq. 5.
 */
export const ppo: PolicyLossComponent<PpoOptions> = {
  kind: 'policy-loss',
  name: 'ppo',
  description: 'The probability ratio times the advantage, clipped (PPO, Schulman et al. 2017).',
  options: PpoOptions,
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  skipsZeroAdvantages: true,
  conflicts: (options) => {
    const usual = new PpoOptions();
    const also = (['clip_low', 'clip_high'] as const).filter((name) => options[name] !== usual[name]);
    if (options.clip_epsilon === undefined || also.length === 0) return [];
    return [`clip_epsilon stands for clip_low and clip_high: leave it out, or ${also.join(' and ')}`];
  },
  create: (options) => ({
    build({ ops, logprobs, inputs }) {
      const range = rangeOf(options);
      const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
      const surrogate = { ops, ratio, advantages: inputs.advantages };
      return {
        loss: clippedLoss(range, surrogate),
        metrics: { clip_fraction: isClipped(range, surrogate) },
      };
    },
  }),
};

function rangeOf({ clip_low, clip_high, clip_epsilon, dual_clip }: PpoOptions): ClipRange {
  return { clip_low: clip_epsilon ?? clip_low, clip_high: clip_epsilon ?? clip_high, dual_clip };
}
