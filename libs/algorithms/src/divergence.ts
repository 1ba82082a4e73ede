/**
 * Log-probabilities of the same tokens under the policy that sampled them and under the trained one; NaN if unknown.
 */
export interface LogprobPair {
  sampled: ArrayLike<number>;
  trained: ArrayLike<number>;
}

/**
 * Divergence between sampler and trainer on the tokens of a batch; empty without tokens. Names as in Tinker's logs:
 * `optim/kl_sample_train_v1` is mean(logp_sample − logp_train), `_v2` half the mean square; both are near 0 if
 * sampling and training agree.
 */
export function divergenceMetrics(pairs: Iterable<LogprobPair>): Record<string, number> {
  let [tokens, difference, squares, ratios, maxDifference, maxRatio] = [0, 0, 0, 0, 0, 0];
  for (const { sampled, trained } of pairs) {
    for (let token = 0; token < sampled.length; token += 1) {
      const apart = sampled[token] - trained[token];
      if (Number.isNaN(apart)) continue;
      const ratio = Math.exp(-apart);
      tokens += 1;
      difference += apart;
      squares += apart * apart;
      ratios += ratio;
      maxDifference = Math.max(maxDifference, Math.abs(apart));
      maxRatio = Math.max(maxRatio, ratio);
    }
  }
  if (tokens === 0) return {};
  return {
    'optim/kl_sample_train_v1': difference / tokens,
    'optim/kl_sample_train_v2': (0.5 * squares) / tokens,
    'optim/logp_difference_max': maxDifference,
    'optim/ratio_mean': ratios / tokens,
    'optim/ratio_max': maxRatio,
  };
}
