import { DEFAULT_CLIP, type PolicyLoss } from './losses';

/** Sums over trained tokens, so that micro-batches add up; `toMetrics` divides. */
export interface TokenStatistics {
  tokens: number;
  /** Tokens with a known log-probability at sampling time; the differences and ratios below are over these. */
  compared: number;
  /** Σ (logp_sample − logp_train). */
  difference: number;
  /** Σ (logp_sample − logp_train)². */
  squaredDifference: number;
  maxDifference: number;
  ratio: number;
  maxRatio: number;
  clipped: number;
  entropy: number;
}

export function noStatistics(): TokenStatistics {
  return {
    tokens: 0,
    compared: 0,
    difference: 0,
    squaredDifference: 0,
    maxDifference: 0,
    ratio: 0,
    maxRatio: 0,
    clipped: 0,
    entropy: 0,
  };
}

/**
 * Adds one token to `into`: its log-probability in the trainer and in the sampler (NaN where nothing sampled it, as in
 * supervised training), its advantage, and the entropy of the distribution it was drawn from.
 */
export function addToken(
  into: TokenStatistics,
  loss: PolicyLoss,
  token: { logp: number; oldLogp: number; advantage: number; entropy: number },
): void {
  into.tokens += 1;
  into.entropy += token.entropy;
  if (Number.isNaN(token.oldLogp)) return;
  const difference = token.oldLogp - token.logp;
  const ratio = Math.exp(-difference);
  into.compared += 1;
  into.difference += difference;
  into.squaredDifference += difference * difference;
  into.maxDifference = Math.max(into.maxDifference, Math.abs(difference));
  into.ratio += ratio;
  into.maxRatio = Math.max(into.maxRatio, ratio);
  if (loss.name === 'ppo' && isClipped(loss, ratio, token.advantage)) into.clipped += 1;
}

/** Whether clipping takes the token's gradient away: the clipped branch is the smaller one. */
function isClipped(loss: PolicyLoss, ratio: number, advantage: number): boolean {
  if (advantage > 0) return ratio > 1 + (loss.clipHigh ?? DEFAULT_CLIP);
  if (advantage === 0) return false;
  return ratio < 1 - (loss.clipLow ?? DEFAULT_CLIP) || (loss.dualClip !== undefined && ratio > loss.dualClip);
}

/**
 * Names as in Tinker's logs. `optim/kl_sample_train_v1` is mean(logp_sample − logp_train), `_v2` half the mean square;
 * both compare the sampler with the trainer on the same tokens and are near 0 when sampling and training agree.
 */
export function toMetrics(statistics: TokenStatistics, loss: PolicyLoss): Record<string, number> {
  const metrics: Record<string, number> = {
    'optim/entropy': statistics.entropy / Math.max(1, statistics.tokens),
    'optim/tokens': statistics.tokens,
  };
  if (statistics.compared === 0) return metrics;
  const tokens = statistics.compared;
  metrics['optim/kl_sample_train_v1'] = statistics.difference / tokens;
  metrics['optim/kl_sample_train_v2'] = (0.5 * statistics.squaredDifference) / tokens;
  metrics['optim/logp_difference_max'] = statistics.maxDifference;
  metrics['optim/ratio_mean'] = statistics.ratio / tokens;
  metrics['optim/ratio_max'] = statistics.maxRatio;
  if (loss.name === 'ppo') metrics['optim/clip_fraction'] = statistics.clipped / tokens;
  return metrics;
}
