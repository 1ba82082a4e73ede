import { Min } from 'class-validator';
import { Doc, type PolicyLossComponent } from '@ui-rl/plugin-kit';

export class DroOptions {
  @Doc('coefficient of the quadratic term')
  @Min(0)
  beta = 0.05;
}

/** −(log π_θ·A − ½β(log π_θ − log π_old)²), Richemond et al. 2024 (arXiv:2405.19107), in the form of Tinker's loss `dro`. */
export const dro: PolicyLossComponent<DroOptions> = {
  kind: 'policy-loss',
  name: 'dro',
  description:
    'The log-probability times the advantage, with a quadratic pull towards the policy that sampled instead of clipping.',
  options: DroOptions,
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  create: ({ beta }) => ({
    build({ ops, logprobs, inputs }) {
      const drift = ops.square(ops.sub(logprobs, inputs.old_logprobs));
      const objective = ops.sub(ops.mul(logprobs, inputs.advantages), ops.mul(drift, beta / 2));
      return { loss: ops.neg(objective), metrics: { drift } };
    },
  }),
};
