import type { Correction } from '@ui-rl/plugin-kit';
import type { LogprobsByTurn } from './reference-logprobs';
import type { TrainedTurn } from './turn-data';

/**
 * Multiplies the weights of tokens with the factors of a correction, episode by episode, and has ratios compare with the policy before the
 * step from now on.
 * @param turns of a batch; those of an episode stand together, in order
 * @param proximal log-probabilities under the policy before the step
 */
export function correct(
  turns: readonly TrainedTurn[],
  correction: Correction,
  proximal: LogprobsByTurn,
): Record<string, number> {
  let [sum, masked, tokens] = [0, 0, 0];
  for (const episode of byEpisode(turns)) {
    const factors = correction.weights(
      episode.map(({ sequence: { turn } }) => ({
        sampleLogprobs: Float32Array.from(turn.logprobs),
        proximalLogprobs: proximal.get(turn)!,
      })),
    );
    episode.forEach(({ weights, inputs, sequence }, index) => {
      inputs.old_logprobs = proximal.get(sequence.turn);
      for (let token = 0; token < weights.length; token += 1) {
        const factor = factors[index][token];
        weights[token] *= factor;
        sum += factor;
        if (factor === 0) masked += 1;
      }
      tokens += weights.length;
    });
  }
  if (tokens === 0) return {};
  return { 'optim/correction_weight_mean': sum / tokens, 'optim/correction_masked': masked / tokens };
}

/** What is left to be trained where a correction has masked whole turns; a pair needs both of its sides. */
export function withWeight(turns: readonly TrainedTurn[]): TrainedTurn[] {
  const left = turns.filter(({ weights }) => weights.some((weight) => weight !== 0));
  const sides = new Map<string, Set<string>>();
  for (const { pair } of left) {
    if (pair !== undefined) sides.set(pair.id, (sides.get(pair.id) ?? new Set()).add(pair.side));
  }
  return left.filter(({ pair }) => pair === undefined || sides.get(pair.id)!.size === 2);
}

function byEpisode(turns: readonly TrainedTurn[]): TrainedTurn[][] {
  const episodes = new Map<string, TrainedTurn[]>();
  for (const turn of turns) {
    const { rolloutId } = turn.sequence;
    const own = episodes.get(rolloutId);
    if (own === undefined) episodes.set(rolloutId, [turn]);
    else own.push(turn);
  }
  return [...episodes.values()];
}
