// Direct preference optimization (Rafailov et al. 2023, eq. 7): -log σ(β · margin), over whole sequences.
module.exports.default = {
  kind: 'policy-loss',
  name: 'dpo',
  description: 'prefers the better episode of a pair to the worse one',
  options: { beta: { type: 'number', default: 0.1, above: 0, description: 'how much a margin counts' } },
  inputs: ['reference_logprobs'],
  scope: 'pair',
  create: ({ beta }) => ({
    build({ ops, scalar, logprobs, inputs, sequences, pairs }) {
      const gain = sequences.sum(ops.sub(logprobs, inputs.reference_logprobs));
      const margin = ops.mul(scalar(beta), ops.sub(pairs.chosen(gain), pairs.rejected(gain)));
      // -log σ(m) = log(1 + exp(-m)), from the side on which nothing overflows.
      const size = ops.max(margin, ops.neg(margin));
      const small = ops.log(ops.add(scalar(1), ops.exp(ops.neg(size))));
      return { loss: ops.add(small, ops.max(ops.neg(margin), scalar(0))), metrics: { margin } };
    },
  }),
};
