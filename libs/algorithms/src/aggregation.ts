import { AlgorithmError } from './errors';

/**
 * The divisor of the sum of token losses. `token-mean`: all trained tokens of the batch; `sequence-mean`: mean per
 * sequence, then over sequences; `constant`: a fixed number of tokens (Dr. GRPO).
 */
export type LossAggregation = 'token-mean' | 'sequence-mean' | 'constant';

/**
 * Weight of each trained token, one number per sequence, so that the loss of the batch is Σ weight · token loss and
 * can be summed over micro-batches.
 * @param tokens_N trained tokens of each sequence of the batch (sequences without any have no weight)
 * @param constantTokens the divisor of `constant`
 */
export function tokenWeights(
  tokens_N: readonly number[],
  aggregation: LossAggregation,
  constantTokens?: number,
): Float64Array {
  const total = tokens_N.reduce((sum, count) => sum + count, 0);
  const sequences = tokens_N.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);
  const divisor = (count: number): number => {
    if (aggregation === 'token-mean') return total;
    if (aggregation === 'sequence-mean') return sequences * count;
    if (constantTokens === undefined || !(constantTokens > 0)) {
      throw new AlgorithmError(
        'option',
        `loss aggregation "constant" divides by a fixed number of tokens, found ${constantTokens}: give a number above 0`,
      );
    }
    return constantTokens;
  };
  return Float64Array.from(tokens_N, (count) => (count > 0 ? 1 / divisor(count) : 0));
}
