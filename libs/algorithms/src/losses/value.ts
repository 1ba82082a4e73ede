import { IsNumber, Min } from 'class-validator';
import { Doc, type LossTerms, type PolicyLossComponent } from '@ui-rl/plugin-kit';
import type { Value } from '@ui-rl/graph';

export class ValueLossOptions {
  @Doc('clip range of a value around its value before the step; 0 = none')
  @IsNumber()
  @Min(0)
  value_clip = 0.2;
}

/**
 * ½ max((V − R)², (V_old + clip(V − V_old, −ε, ε) − R)²) with the returns R, as in the first implementation of PPO
 * (baselines, ppo2) and in Engstrom et al. 2020, "Implementation Matters in Deep Policy Gradients", section 3.
 */
export const value: PolicyLossComponent<ValueLossOptions> = {
  kind: 'policy-loss',
  name: 'value',
  description: 'For a critic: half the squared error of values against returns, clipped.',
  options: ValueLossOptions,
  inputs: ['values', 'returns'],
  scope: 'token',
  trains: 'critic',
  create: ({ value_clip }) => ({
    build(terms) {
      const { ops, predictions, inputs } = terms;
      const plain = squaredError(terms, predictions);
      if (value_clip === 0) return { loss: ops.mul(plain, 0.5) };
      const moved = ops.sub(predictions, inputs.values);
      const near = ops.add(inputs.values, ops.clip(moved, -value_clip, value_clip));
      const clipped = squaredError(terms, near);
      const isClipped = ops.and(ops.greater(ops.abs(moved), value_clip), ops.less(plain, clipped));
      return {
        loss: ops.mul(ops.max(plain, clipped), 0.5),
        metrics: { clip_fraction: ops.cast(isClipped, 'float32') },
      };
    },
  }),
};

function squaredError({ ops, inputs }: LossTerms, values: Value): Value {
  return ops.square(ops.sub(values, inputs.returns));
}
