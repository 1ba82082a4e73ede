import { Above, Doc, type CorrectionComponent } from '@ui-rl/plugin-kit';

export class TisOptions {
  @Doc('largest weight of a token')
  @Above(0)
  importance_ratio_cap = 2;
}

/**
 * Truncated importance sampling: a token weighs min(π_prox / π_sample, C), Yao et al. 2025, "Your Efficient RL Framework Secretly
 * Brings You Off-Policy RL Training".
 */
export const tis: CorrectionComponent<TisOptions> = {
  kind: 'correction',
  name: 'tis',
  description:
    'Weighs tokens by how much more probable the trainer finds them than the policy that sampled, up to a cap.',
  options: TisOptions,
  create: ({ importance_ratio_cap }) => ({
    weights: ({ sampleLogprobs, proximalLogprobs }) =>
      proximalLogprobs.map((proximal, token) =>
        Math.min(Math.exp(proximal - sampleLogprobs[token]), importance_ratio_cap),
      ),
  }),
};
