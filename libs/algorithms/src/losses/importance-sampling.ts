import type { PolicyLossComponent } from '@ui-rl/plugin-kit';

/** −r·A with r = exp(log π_θ − log π_old), per token: the policy gradient of Schulman et al. 2017, eq. 6, without clipping. */
export const importanceSampling: PolicyLossComponent = {
  kind: 'policy-loss',
  name: 'importance_sampling',
  description: 'The probability ratio times the advantage, never clipped.',
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  skipsZeroAdvantages: true,
  create: () => ({
    build({ ops, logprobs, inputs }) {
      const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
      return { loss: ops.neg(ops.mul(ratio, inputs.advantages)) };
    },
  }),
};
