import { MAX_TRAINED_TOKENS, type TrainedEpisode, type Trajectory, type Turn } from '@ui-rl/contracts';
import type { PerTurn } from './experience';
import type { TrainedTurn } from './turn-data';

/**
 * A step's numbers for its episodes, in their order: the advantage of each, and those of each trained token for the
 * first episodes that have `most` tokens together.
 * @param logprobs [T] by the trainer, of the trained turns
 */
export function trainedEpisodes(
  episodes: readonly Trajectory[],
  advantages: PerTurn,
  trained: readonly TrainedTurn[],
  logprobs: ReadonlyMap<Turn, Float32Array>,
  most = MAX_TRAINED_TOKENS,
): TrainedEpisode[] {
  const weights = new Map(trained.map((each) => [each.sequence.turn, each.weights]));
  let tokens = 0;
  return episodes.map(({ request: { rolloutId }, turns }) => {
    const own = turns.filter((turn) => logprobs.has(turn));
    tokens += own.reduce((sum, turn) => sum + turn.tokenIds.length, 0);
    return {
      rolloutId,
      advantage: meanOf(turns.flatMap((turn) => Array.from(advantages.get(turn) ?? []))),
      turns:
        tokens > most
          ? []
          : own.map((turn) => ({
              index: turn.index,
              advantages: readable(advantages.get(turn)!),
              weights: readable(weights.get(turn)!),
              logprobs: readable(logprobs.get(turn)!),
            })),
    };
  });
}

function meanOf(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return short(values.reduce((sum, value) => sum + value, 0) / values.length);
}

function readable(values: ArrayLike<number>): number[] {
  return Array.from(values, short);
}

/** Five digits keep messages small. */
function short(value: number): number {
  return Number(value.toPrecision(5));
}
