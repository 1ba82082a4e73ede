import type { Turn } from '@ui-rl/contracts';
import type { Correction } from '@ui-rl/plugin-kit';
import type { LogprobsByTurn } from './turn-logprobs';
import type { TrainedTurn, TurnSequence } from './turn-data';

/**
 * Multiplies the weights of tokens with the factors of a correction, and makes ratios refer to the policy before the
 * step. The ratio of an episode covers all tokens that were sampled in it, including those that are not trained on:
 * without an advantage, or too old.
 * @param turns trained turns of a batch
 * @param played all turns with tokens of their episodes; those of an episode in order
 * @param proximal log-probabilities of all played turns under the policy before the step
 */
export function correct(
  turns: readonly TrainedTurn[],
  played: readonly TurnSequence[],
  correction: Correction,
  proximal: LogprobsByTurn,
): Record<string, number> {
  const factors = factorsOf(played, correction, proximal);
  let [sum, masked, tokens] = [0, 0, 0];
  for (const { weights, inputs, sequence } of turns) {
    const own = factors.get(sequence.turn)!;
    inputs.old_logprobs = proximal.get(sequence.turn);
    for (let token = 0; token < weights.length; token += 1) {
      weights[token] *= own[token];
      sum += own[token];
      if (own[token] === 0) masked += 1;
    }
    tokens += weights.length;
  }
  if (tokens === 0) return {};
  return { 'optim/correction_weight_mean': sum / tokens, 'optim/correction_masked': masked / tokens };
}

/** The remaining turns after a correction has masked whole ones; a pair needs both of its sides completely. */
export function withWeight(turns: readonly TrainedTurn[]): TrainedTurn[] {
  const partial = new Set(turns.filter(({ weights }) => weights.includes(0)).map(({ pair }) => pair?.id));
  const left = turns.filter(
    ({ weights, pair }) =>
      weights.some((weight) => weight !== 0) && (pair === undefined || !partial.has(pair.id)),
  );
  const sides = new Map<string, Set<string>>();
  for (const { pair } of left) {
    if (pair !== undefined) sides.set(pair.id, (sides.get(pair.id) ?? new Set()).add(pair.side));
  }
  return left.filter(({ pair }) => pair === undefined || sides.get(pair.id)!.size === 2);
}

/** The factors of a correction for the tokens of each turn, episode by episode. */
function factorsOf(
  played: readonly TurnSequence[],
  correction: Correction,
  proximal: LogprobsByTurn,
): Map<Turn, Float32Array> {
  const factors = new Map<Turn, Float32Array>();
  for (const turns of byEpisode(played)) {
    const found = correction.weights(
      turns.map((turn) => ({
        sampleLogprobs: Float32Array.from(turn.logprobs),
        proximalLogprobs: proximal.get(turn)!,
      })),
    );
    turns.forEach((turn, index) => factors.set(turn, found[index]));
  }
  return factors;
}

function byEpisode(played: readonly TurnSequence[]): Turn[][] {
  const episodes = new Map<string, Turn[]>();
  for (const { rolloutId, turn } of played) {
    const own = episodes.get(rolloutId);
    if (own === undefined) episodes.set(rolloutId, [turn]);
    else own.push(turn);
  }
  return [...episodes.values()];
}
