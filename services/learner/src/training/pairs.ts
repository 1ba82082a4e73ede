import type { Turn } from '@ui-rl/contracts';
import type { Datum } from '@ui-rl/plugin-kit';
import { mean } from '@ui-rl/algorithms';
import type { Group } from '../episodes/groups';
import type { PerTurn } from './experience';

/**
 * The pairs of a group: the episode with the highest mean advantage and the one with the lowest, then the next ones,
 * while they differ. Turns of the other episodes are in no pair.
 */
export function pairsOf(group: Group, advantages: PerTurn): Map<Turn, NonNullable<Datum['pair']>> {
  const episodes = group.trajectories
    .map(({ turns }) => ({ turns, advantage: meanAdvantage(turns, advantages) }))
    .filter(({ advantage }) => Number.isFinite(advantage));
  const pairs = new Map<Turn, NonNullable<Datum['pair']>>();
  rankedPairs(episodes, ({ advantage }) => advantage).forEach(([chosen, rejected], place) => {
    const id = `${group.id}/${place}`;
    for (const turn of chosen.turns) pairs.set(turn, { id, side: 'chosen' });
    for (const turn of rejected.turns) pairs.set(turn, { id, side: 'rejected' });
  });
  return pairs;
}

/**
 * The item with the highest score and the one with the lowest, then the next ones, while they differ: the better one
 * first.
 */
export function rankedPairs<T>(items: readonly T[], scoreOf: (item: T) => number): [T, T][] {
  const ranked = items.toSorted((a, b) => scoreOf(b) - scoreOf(a));
  const pairs = Array.from({ length: Math.floor(ranked.length / 2) }, (_, place): [T, T] => [
    ranked[place],
    ranked[ranked.length - 1 - place],
  ]);
  return pairs.filter(([better, worse]) => scoreOf(better) > scoreOf(worse));
}

/** NaN if the episode is not trained on, or has no tokens. */
function meanAdvantage(turns: readonly Turn[], advantages: PerTurn): number {
  const numbers = turns.flatMap((turn) => Array.from(advantages.get(turn) ?? []));
  return numbers.length === 0 ? Number.NaN : mean(numbers);
}
