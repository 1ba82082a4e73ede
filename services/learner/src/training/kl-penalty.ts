import type { Turn } from '@ui-rl/contracts';
import type { MayTrain } from './batch-data';
import type { PerTurn } from './experience';

export interface PenalizedAdvantages {
  advantages: PerTurn;
  /** `kl_policy_base`: mean of log p(sampler) − log p(base model) over the trained tokens. */
  metrics: Record<string, number>;
}

/**
 * Penalizes drift from the base model: A + coef · (mean(d) − d) with d = log π_sample − log π_base, the mean
 * over the trained tokens, so that the penalty sums to 0 there (Tinker's `incorporate_kl_penalty`).
 * @param reference log-probabilities [T] of each turn with an advantage, under the base model
 * @param mayTrain [T] which tokens of a turn are trained on; the others are too old
 */
export function penalizeDrift(
  advantages: PerTurn,
  reference: ReadonlyMap<Turn, Float32Array>,
  coef: number,
  mayTrain: MayTrain,
): PenalizedAdvantages {
  const drifts = new Map<Turn, number[]>();
  let [sum, tokens] = [0, 0];
  for (const turn of advantages.keys()) {
    const base = reference.get(turn);
    if (base === undefined) continue;
    const drift = turn.logprobs.map((logprob, token) => logprob - base[token]);
    drifts.set(turn, drift);
    const trained = mayTrain(turn);
    drift.forEach((each, token) => {
      if (!trained[token]) return;
      sum += each;
      tokens += 1;
    });
  }
  if (tokens === 0) return { advantages, metrics: {} };
  const centre = sum / tokens;
  const penalized = new Map(
    Array.from(advantages, ([turn, own]) => {
      const drift = drifts.get(turn);
      const changed = (advantage: number, token: number): number =>
        advantage + coef * (centre - drift![token]);
      return [turn, drift === undefined ? own : own.map(changed)] as const;
    }),
  );
  return { advantages: penalized, metrics: { kl_policy_base: centre } };
}
