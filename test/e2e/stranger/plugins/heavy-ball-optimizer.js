// Gradient descent with a velocity (Polyak's heavy ball).
module.exports.default = {
  kind: 'optimizer',
  name: 'heavy-ball',
  description: 'gradient descent with a velocity',
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
