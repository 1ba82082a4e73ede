import { tensor, type Tensor } from '@ui-rl/graph';
import { KEPT_INPUTS } from '@ui-rl/models';

/** Added to the score of positions without a token. */
const ABSENT = -1e9;

/**
 * The kept tokens of cut distributions as inputs of a trainer's graph; undefined if all distributions are whole.
 * @param kept by selected position: the remaining tokens; undefined or empty for whole distributions
 */
export function cutFeeds(
  kept: readonly (ArrayLike<number> | undefined)[],
): Record<string, Tensor> | undefined {
  const most = kept.reduce((longest, ids) => Math.max(longest, ids?.length ?? 0), 0);
  if (most === 0) return undefined;
  const count = kept.length;
  const tokens = new BigInt64Array(count * most);
  const bias = new Float32Array(count * most).fill(ABSENT);
  const isCut = new Float32Array(count);
  kept.forEach((ids, position) => {
    const begin = position * most;
    isCut[position] = Number(ids !== undefined && ids.length > 0);
    bias.fill(0, begin, begin + Math.max(1, ids?.length ?? 0));
    for (let index = 0; index < (ids?.length ?? 0); index += 1) tokens[begin + index] = BigInt(ids![index]);
  });
  return {
    [KEPT_INPUTS.tokens]: tensor('int64', tokens, [count, most]),
    [KEPT_INPUTS.bias]: tensor('float32', bias, [count, most]),
    [KEPT_INPUTS.isCut]: tensor('float32', isCut),
  };
}
