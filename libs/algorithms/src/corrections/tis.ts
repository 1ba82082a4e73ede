import { Above, Doc, type CorrectionComponent } from '@ui-rl/plugin-kit';
import { importanceRatios, RatioOptions } from './ratios';

export class TisOptions extends RatioOptions {
  @Doc('maximum weight of a token')
  @Above(0)
  importance_ratio_cap = 2;
}

/**
 * Truncated importance sampling: a token has the weight min(π_prox / π_sample, C), Yao et al. 2025, "Your Efficient
 * RL Framework Secretly Brings You Off-Policy RL Training"; optionally with the ratio of its turn or its episode
 * instead of the token's.
 */
export const tis: CorrectionComponent<TisOptions> = {
  kind: 'correction',
  name: 'tis',
  description:
    'Truncated importance sampling: weighs tokens by the probability ratio of trainer to sampler, up to a cap.',
  options: TisOptions,
  create: (options) => ({
    weights: (turns) =>
      importanceRatios(turns, options).map((ratios) =>
        Float32Array.from(ratios, (ratio) => Math.min(ratio, options.importance_ratio_cap)),
      ),
  }),
};
