import type { Template } from '../template';

export const optimizer: Template = {
  type: 'OptimizerComponent',
  options: 'decay: number;',
  description: 'Gradient descent with momentum.',
  members: `
  options: {
    decay: { type: 'number', default: 0.9, atLeast: 0, below: 1, description: 'what is left of the velocity after a step' },
  },
  create: ({ decay }) => ({
    // Kept per weight between steps, and saved in checkpoints.
    state: ['velocity'],
    update({ weight, gradient, state: { velocity } }, { learningRate }) {
      for (let index = 0; index < weight.length; index += 1) {
        velocity[index] = decay * velocity[index] + gradient[index];
        weight[index] -= learningRate * velocity[index];
      }
    },
  }),`,
  test: `
test('follows the gradient, and what is left of the velocity', () => {
  const weight = new Float32Array([1, -1]);
  const gradient = new Float32Array([2, 0]);
  const state = { velocity: new Float32Array(2) };
  const optimizer = component.create({ decay: 0.5 }, {});
  const given = { name: 'w', shape: [2], weight, gradient, state };
  optimizer.update(given, { step: 1, learningRate: 0.25, gradientScale: 1 });
  assert.deepEqual(weight, new Float32Array([0.5, -1]));
  optimizer.update(given, { step: 2, learningRate: 0.25, gradientScale: 1 });
  assert.deepEqual(weight, new Float32Array([-0.25, -1]));
  assert.deepEqual(state.velocity, new Float32Array([3, 0]));
});`,
  choice: 'training: { optimizer: { name: NAME, decay: 0.95 } }',
};
