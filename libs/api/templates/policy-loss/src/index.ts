import type { PolicyLossComponent } from '@ui-rl/plugin-kit';

interface Options {
  most: number;
}

const component: PolicyLossComponent<Options> = {
  kind: 'policy-loss',
  name: 'my-component',
  description: 'The advantage times the probability ratio, which is clipped at a bound.',
  options: {
    most: { type: 'number', default: 2, above: 0, description: 'upper bound of the ratio' },
  },
  // Inputs per token besides its log-probability, and the scope of one loss value.
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  create: ({ most }) => ({
    // Builds a graph. The engine differentiates it with respect to logprobs.
    build(terms) {
      const { ops, logprobs, inputs } = terms;
      const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
      const gain = ops.mul(ops.min(ratio, terms.scalar(most)), inputs.advantages);
      return { loss: ops.neg(gain), metrics: { ratio } };
    },
  }),
};

export default component;
