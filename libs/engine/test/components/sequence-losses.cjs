// Losses over whole sequences and over pairs of them, as somebody outside the project would write them.

/** −ratio · advantage per sequence, the ratio being the geometric mean of its tokens' (GSPO without clipping), less an entropy bonus. */
const sequenceRatio = {
  kind: 'policy-loss',
  name: 'sequence_ratio',
  inputs: ['advantages', 'old_logprobs'],
  scope: 'sequence',
  options: { entropy: { type: 'number', description: 'weight of the entropy', default: 0 } },
  create: ({ entropy: bonus }) => ({
    build({ ops, logprobs, entropy, inputs, sequences }) {
      const ratio = ops.exp(sequences.mean(ops.sub(logprobs, inputs.old_logprobs)));
      const gain = ops.mul(ratio, sequences.mean(inputs.advantages));
      const loss = ops.neg(gain);
      return {
        loss: bonus === 0 ? loss : ops.sub(loss, ops.mul(sequences.mean(entropy()), bonus)),
        metrics: { ratio },
      };
    },
  }),
};

/** −log σ(β · difference of the sides' log-ratios to the reference). */
const preference = {
  kind: 'policy-loss',
  name: 'preference',
  inputs: ['reference_logprobs'],
  scope: 'pair',
  options: { beta: { type: 'number', description: 'how far the policy may go', default: 0.1 } },
  create: ({ beta }) => ({
    build({ ops, logprobs, inputs, sequences, pairs }) {
      const ratio = sequences.sum(ops.sub(logprobs, inputs.reference_logprobs));
      const margin = ops.mul(ops.sub(pairs.chosen(ratio), pairs.rejected(ratio)), beta);
      return {
        loss: ops.neg(ops.log(ops.sigmoid(margin))),
        metrics: { accuracy: ops.cast(ops.greater(margin, 0), 'float32') },
      };
    },
  }),
};

module.exports = { components: [sequenceRatio, preference] };
