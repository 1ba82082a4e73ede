import { Min } from 'class-validator';
import { Above, Doc, PluginError, type CorrectionComponent } from '@ui-rl/plugin-kit';
import { importanceRatios, RatioOptions } from './ratios';

export class MisOptions extends RatioOptions {
  @Doc('minimum ratio; tokens below it are left out')
  @Min(0)
  importance_ratio_low = 0.5;

  @Doc('maximum ratio; tokens above it are left out')
  @Above(0)
  importance_ratio_high = 2;
}

/**
 * Masked importance sampling: a token has the weight π_prox / π_sample if that is within [low, high], and is excluded
 * otherwise ("IcePop", Ling Team 2025; for sequences Liu et al. 2025, "When Speed Kills Stability"). By turns or
 * episodes, whole ones are excluded.
 */
export const mis: CorrectionComponent<MisOptions> = {
  kind: 'correction',
  name: 'mis',
  description:
    'Masked importance sampling: leaves out tokens, turns or episodes whose probability ratio is out of bounds, and weighs the rest by it.',
  options: MisOptions,
  create: (options) => {
    const { importance_ratio_low: low, importance_ratio_high: high } = options;
    if (low >= high) {
      throw new PluginError(
        'option',
        `mis: importance_ratio_low is ${low}, expected less than importance_ratio_high (${high})`,
      );
    }
    return {
      weights: (turns) =>
        importanceRatios(turns, options).map((ratios) =>
          Float32Array.from(ratios, (ratio) => (ratio >= low && ratio <= high ? ratio : 0)),
        ),
    };
  },
};
