// Direct reward optimization: -(log π · A - β/2 (log π - log π_old)²).
module.exports.default = {
  kind: 'policy-loss',
  name: 'dro',
  description: 'a quadratic pull towards the policy that sampled, instead of clipping',
  options: { beta: { type: 'number', default: 0.05, atLeast: 0, description: 'strength of the pull' } },
  inputs: ['advantages', 'old_logprobs'],
  scope: 'token',
  create: ({ beta }) => ({
    build({ ops, scalar, logprobs, inputs }) {
      const drift = ops.sub(logprobs, inputs.old_logprobs);
      const squared = ops.mul(drift, drift);
      const objective = ops.sub(ops.mul(logprobs, inputs.advantages), ops.mul(scalar(beta / 2), squared));
      return { loss: ops.neg(objective), metrics: { drift: squared } };
    },
  }),
};
