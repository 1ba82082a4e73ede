import { IsIn, IsOptional } from 'class-validator';
import type { ops as Ops, Value } from '@ui-rl/graph';
import { Above, Doc, type PolicyLossComponent } from '@ui-rl/plugin-kit';

/** Default bounds on a token's divergence, from the authors' experiments. */
const USUAL_DELTA = { tv: 0.15, kl: 0.05 } as const;

/** Keeps 1 − p away from 0 where p rounds to 1 in float32. */
const LEAST_REST = 1e-7;

export class DppoOptions {
  @Doc('divergence of two policies on a token: total variation, or Kullback-Leibler')
  @IsIn(['tv', 'kl'])
  divergence: 'tv' | 'kl' = 'tv';

  @Doc(
    'maximum divergence of tokens with a negative advantage, beyond which they have no gradient; default: 0.15 for tv, 0.05 for kl',
  )
  @IsOptional()
  @Above(0)
  delta_low?: number;

  @Doc('the same for tokens with a positive advantage')
  @IsOptional()
  @Above(0)
  delta_high?: number;
}

/**
 * −m·r·A, Qi et al. 2026 (arXiv:2602.04879), with r = π_θ / π_μ relative to the policy μ that sampled. The mask m,
 * without a gradient, is 0 if the token has already moved in the direction of its advantage and the two-point
 * distributions (this token, any other) differ by more than delta: by total variation |p_θ − p_μ|, or by KL(p_μ ‖
 * p_θ).
 */
export const dppo: PolicyLossComponent<DppoOptions> = {
  kind: 'policy-loss',
  name: 'dppo',
  description:
    'The probability ratio times the advantage, without tokens whose probability is too far from that of the sampler.',
  options: DppoOptions,
  inputs: ['advantages', 'sample_logprobs'],
  scope: 'token',
  skipsZeroAdvantages: true,
  conflicts: (_options, { algorithm }) =>
    (algorithm.correction as { name: string }).name === 'none'
      ? []
      : [
          'dppo compares with the policy that sampled, so that algorithm.correction would count twice: leave that at none',
        ],
  create: ({ divergence, delta_low, delta_high }) => {
    const low = delta_low ?? USUAL_DELTA[divergence];
    const high = delta_high ?? USUAL_DELTA[divergence];
    return {
      build({ ops, logprobs, inputs }) {
        const { advantages, sample_logprobs } = inputs;
        const apart = ops.sub(logprobs, sample_logprobs);
        const ratio = ops.exp(apart);
        const distance =
          divergence === 'tv'
            ? totalVariation(ops, logprobs, sample_logprobs)
            : binaryKl(ops, logprobs, sample_logprobs);
        const masked = ops.or(
          ops.and(ops.greater(advantages, 0), ops.and(ops.greater(apart, 0), ops.greater(distance, high))),
          ops.and(ops.less(advantages, 0), ops.and(ops.less(apart, 0), ops.greater(distance, low))),
        );
        const loss = ops.neg(ops.mul(ratio, advantages));
        return {
          loss: ops.where(masked, ops.mul(advantages, 0), loss),
          metrics: { masked: ops.cast(masked, 'float32') },
        };
      },
    };
  },
};

function totalVariation(ops: typeof Ops, logprobs: Value, sampled: Value): Value {
  return ops.abs(ops.sub(ops.exp(logprobs), ops.exp(sampled)));
}

/** p_μ log(p_μ / p_θ) + (1 − p_μ) log((1 − p_μ) / (1 − p_θ)). */
function binaryKl(ops: typeof Ops, logprobs: Value, sampled: Value): Value {
  const rest = (logprob: Value): Value => ops.max(ops.sub(1, ops.exp(logprob)), LEAST_REST);
  const [others, othersBefore] = [rest(logprobs), rest(sampled)];
  const own = ops.mul(ops.exp(sampled), ops.sub(sampled, logprobs));
  return ops.add(own, ops.mul(othersBefore, ops.sub(ops.log(othersBefore), ops.log(others))));
}
