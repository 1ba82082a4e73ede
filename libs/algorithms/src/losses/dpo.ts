import { Min } from 'class-validator';
import { Above, Doc, type LossTerms, type PolicyLossComponent } from '@ui-rl/plugin-kit';
import type { Value } from '@ui-rl/graph';

export class DpoOptions {
  @Doc('DPO β: higher values keep the policy closer to the base model')
  @Above(0)
  beta = 0.1;

  @Doc(
    'coefficient of an imitation term, the mean −log π per token of the chosen episode; at 0 its probability may fall if that of the rejected one falls more',
  )
  @Min(0)
  nll_coef = 0;
}

/**
 * −log σ(β·margin) per pair, Rafailov et al. 2023, eq. 7. The margin is the gain of the chosen sequence minus that of
 * the rejected one; a gain is the sum over sampled tokens of log π_θ − log π_base, where base is the model with its
 * adapter off. With `nll_coef` α, each pair also has α·mean(−log π_θ) over the tokens of the chosen sequence, Pang et
 * al. 2024, eq. 1.
 */
export const dpo: PolicyLossComponent<DpoOptions> = {
  kind: 'policy-loss',
  name: 'dpo',
  description: 'Direct preference optimization over pairs of episodes, with the base model as the reference.',
  options: DpoOptions,
  inputs: ['reference_logprobs'],
  scope: 'pair',
  create: ({ beta, nll_coef }) => ({
    build(terms) {
      const { ops, logprobs, inputs, sequences, pairs } = terms;
      const gain = ops.mul(sequences.sum(ops.sub(logprobs, inputs.reference_logprobs)), beta);
      const [chosen, rejected] = [pairs.chosen(gain), pairs.rejected(gain)];
      const margin = ops.sub(chosen, rejected);
      const preference = negativeLogSigmoid(terms, margin);
      const imitation = () => ops.mul(pairs.chosen(sequences.mean(ops.neg(logprobs))), nll_coef);
      return {
        loss: nll_coef === 0 ? preference : ops.add(preference, imitation()),
        metrics: {
          margin,
          accuracy: ops.cast(ops.greater(margin, 0), 'float32'),
          chosen_reward: chosen,
          rejected_reward: rejected,
        },
      };
    },
  }),
};

/**
 * −log σ(x) = log(1 + e^−|x|) + max(−x, 0), which never overflows. The sign is treated as a constant: at 0, where
 * training starts, the derivatives of |x| and max would not add up to −½.
 */
function negativeLogSigmoid({ ops }: LossTerms, x: Value): Value {
  const isNegative = ops.cast(ops.less(x, 0), 'float32');
  const size = ops.mul(x, ops.sub(1, ops.mul(isNegative, 2)));
  const small = ops.log(ops.add(ops.exp(ops.neg(size)), 1));
  return ops.sub(small, ops.mul(isNegative, x));
}
