import { Min } from 'class-validator';
import { Above, Doc, PluginError, type PolicyLossComponent } from '@ui-rl/plugin-kit';

export class CispoOptions {
  @Doc('minimum weight of a token')
  @Min(0)
  ratio_low = 0;

  @Doc('maximum weight of a token')
  @Above(0)
  ratio_high = 4;
}

/**
 * −sg(clip(r, ratio_low, ratio_high))·A·log π_θ, MiniMax-M1 (arXiv:2506.13585), eq. 4: clips the weight of a token,
 * so that its gradient never vanishes.
 */
export const cispo: PolicyLossComponent<CispoOptions> = {
  kind: 'policy-loss',
  name: 'cispo',
  description:
    'The log-probability times the advantage, weighted by the clipped probability ratio; no token loses its gradient.',
  options: CispoOptions,
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  skipsZeroAdvantages: true,
  create: ({ ratio_low, ratio_high }) => {
    if (ratio_low > ratio_high) {
      throw new PluginError(
        'option',
        `cispo: ratio_low is ${ratio_low}, expected at most ratio_high (${ratio_high})`,
      );
    }
    return {
      build({ ops, logprobs, inputs }) {
        const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
        const weight = ops.stopGradient(ops.max(ops.min(ratio, ratio_high), ratio_low));
        const outside = ops.or(ops.greater(ratio, ratio_high), ops.less(ratio, ratio_low));
        return {
          loss: ops.neg(ops.mul(ops.mul(weight, inputs.advantages), logprobs)),
          metrics: { clip_fraction: ops.cast(outside, 'float32') },
        };
      },
    };
  },
};
