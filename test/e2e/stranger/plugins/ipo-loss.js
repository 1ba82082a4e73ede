// Identity preference optimization (Azar et al. 2023, eq. 17): (margin − 1 / 2β)², over whole sequences.
module.exports.default = {
  kind: 'policy-loss',
  name: 'ipo',
  description: 'brings the margin between the better and the worse episode of a pair to a fixed width',
  options: { beta: { type: 'number', default: 0.1, above: 0, description: 'the narrower, the higher' } },
  inputs: ['reference_logprobs'],
  scope: 'pair',
  create: ({ beta }) => ({
    build({ ops, scalar, logprobs, inputs, sequences, pairs }) {
      const gain = sequences.sum(ops.sub(logprobs, inputs.reference_logprobs));
      const margin = ops.sub(pairs.chosen(gain), pairs.rejected(gain));
      const gap = ops.sub(margin, scalar(1 / (2 * beta)));
      return { loss: ops.mul(gap, gap), metrics: { margin } };
    },
  }),
};
