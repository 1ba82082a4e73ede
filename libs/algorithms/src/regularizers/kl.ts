import { IsIn } from 'class-validator';
import type { ops as Ops, Value } from '@ui-rl/graph';
import { Above, Doc, type RegularizerComponent } from '@ui-rl/plugin-kit';

export class KlOptions {
  @Doc('coefficient of the divergence from the base model')
  @Above(0)
  coef = 0.01;

  @Doc(
    'estimator of the divergence from sampled tokens: k1 log-ratio, k2 half its square, k3 unbiased and never negative',
  )
  @IsIn(['k1', 'k2', 'k3'])
  estimator: 'k1' | 'k2' | 'k3' = 'k3';
}

/**
 * coef · KL(π_θ ‖ π_base), estimated per token with x = log π_θ − log π_base (Schulman 2020, "Approximating KL
 * Divergence"): k1 = x, k2 = x²/2, k3 = exp(−x) + x − 1. The base model has the same weights with the adapter off. As
 * a loss, k1 has gradient 0 in expectation over the policy's own samples; k2 has that of the divergence.
 */
export const kl: RegularizerComponent<KlOptions> = {
  kind: 'regularizer',
  name: 'kl',
  description:
    'A penalty on the KL divergence from the base model, which is the same weights without the adapter.',
  options: KlOptions,
  inputs: ['reference_logprobs'],
  create: ({ coef, estimator }) => ({
    build({ ops, logprobs, inputs }) {
      const divergence = estimate(ops, estimator, ops.sub(logprobs, inputs.reference_logprobs));
      return { loss: ops.mul(divergence, coef), metrics: { divergence } };
    },
  }),
};

function estimate(ops: typeof Ops, estimator: KlOptions['estimator'], x: Value): Value {
  switch (estimator) {
    case 'k1':
      return x;
    case 'k2':
      return ops.mul(ops.square(x), 0.5);
    case 'k3':
      return ops.sub(ops.add(ops.exp(ops.neg(x)), x), 1);
  }
}
