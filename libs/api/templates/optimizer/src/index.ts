import type { OptimizerComponent } from '@ui-rl/plugin-kit';

interface Options {
  decay: number;
}

const component: OptimizerComponent<Options> = {
  kind: 'optimizer',
  name: 'my-component',
  description: 'Gradient descent with momentum.',
  options: {
    decay: {
      type: 'number',
      default: 0.9,
      atLeast: 0,
      below: 1,
      description: 'share of the velocity kept after a step',
    },
  },
  create: ({ decay }) => ({
    // Tensors per weight, kept between steps and saved in checkpoints.
    state: ['velocity'],
    update({ weight, gradient, state: { velocity } }, { learningRate }) {
      for (let index = 0; index < weight.length; index += 1) {
        velocity[index] = decay * velocity[index] + gradient[index];
        weight[index] -= learningRate * velocity[index];
      }
    },
  }),
};

export default component;
