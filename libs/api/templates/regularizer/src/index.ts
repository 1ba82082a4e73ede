import type { RegularizerComponent } from '@ui-rl/plugin-kit';

interface Options {
  coef: number;
  floor: number;
}

const component: RegularizerComponent<Options> = {
  kind: 'regularizer',
  name: 'my-component',
  description: 'A cost for tokens whose entropy is below a bound.',
  options: {
    coef: { type: 'number', default: 0.01, above: 0, description: 'coefficient' },
    floor: { type: 'number', default: 0.5, above: 0, description: 'entropy bound in nats' },
  },
  inputs: [],
  create: ({ coef, floor }) => ({
    // One value per token; the engine adds it to the loss.
    build({ ops, scalar, entropy }) {
      const lacking = ops.max(ops.sub(scalar(floor), entropy()), 0);
      return { loss: ops.mul(lacking, scalar(coef)), metrics: { lacking } };
    },
  }),
};

export default component;
