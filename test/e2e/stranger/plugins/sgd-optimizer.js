// Stochastic gradient descent with momentum.
module.exports.default = {
  kind: 'optimizer',
  name: 'sgd',
  description: 'gradient descent with momentum',
  options: {
    momentum: {
      type: 'number',
      default: 0.9,
      atLeast: 0,
      below: 1,
      description: 'share of the last direction',
    },
  },
  create: ({ momentum }) => ({
    state: ['momentum'],
    update({ weight, gradient, state }, { learningRate }) {
      for (let i = 0; i < weight.length; i++) {
        state.momentum[i] = momentum * state.momentum[i] + gradient[i];
        weight[i] -= learningRate * state.momentum[i];
      }
    },
  }),
};
