import type { PolicyLossComponent } from '@ui-rl/plugin-kit';

/** −log π_θ per token: imitates the data, for supervised training and rejection sampling. */
export const crossEntropy: PolicyLossComponent = {
  kind: 'policy-loss',
  name: 'cross_entropy',
  description: 'Makes the tokens of the chosen episodes more probable and ignores their advantage.',
  inputs: [],
  scope: 'token',
  defaultAdvantage: 'rejection_sampling',
  create: () => ({ build: ({ ops, logprobs }) => ({ loss: ops.neg(logprobs) }) }),
};
