// Soft adaptive policy optimization, arXiv:2511.20347: -4/tau · σ(tau (r - 1)) · A.
module.exports.default = {
  kind: 'policy-loss',
  name: 'sapo',
  description: 'a soft gate on the probability ratio, instead of clipping',
  options: { tau: { type: 'number', default: 1, above: 0, description: 'how soon the gate closes' } },
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  create: ({ tau }) => ({
    build({ ops, scalar, logprobs, inputs }) {
      const ratio = ops.exp(ops.sub(logprobs, inputs.old_logprobs));
      const gate = ops.sigmoid(ops.mul(scalar(tau), ops.sub(ratio, scalar(1))));
      const objective = ops.mul(ops.mul(gate, scalar(4 / tau)), inputs.advantages);
      return { loss: ops.neg(objective), metrics: { gate } };
    },
  }),
};
