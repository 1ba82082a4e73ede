// Gradient descent with a velocity (Polyak's heavy ball), as somebody outside the project would write it.
module.exports = {
  components: [
    {
      kind: 'optimizer',
      name: 'heavy-ball',
      options: { momentum: { type: 'number', description: 'share of the last change', default: 0.9 } },
      create: ({ momentum }) => ({
        state: ['velocity'],
        update({ weight, gradient, state: { velocity } }, { learningRate }) {
          for (let i = 0; i < weight.length; i += 1) {
            velocity[i] = momentum * velocity[i] + gradient[i];
            weight[i] -= learningRate * velocity[i];
          }
        },
      }),
    },
  ],
};
