import { tokenWeights, type LossAggregation } from '@ui-rl/algorithms';
import type { Turn } from '@ui-rl/contracts';
import type { LossScope } from '@ui-rl/plugin-kit';
import type { Group } from '../episodes/groups';
import type { PerTurn } from './experience';
import { pairsOf } from './pairs';
import type { TrainedTurn, TurnSequence } from './turn-data';

export interface BatchDataOptions {
  scope: LossScope;
  /** Whether what has no advantage has no gradient: it counts in the means, and need not be computed. */
  skipsZeroAdvantages: boolean;
  aggregation: LossAggregation;
  constantTokens?: number;
}

/** What one loss value may speak of: a turn, or all turns of an episode where the loss is one of sequences. */
interface Unit {
  turns: readonly Turn[];
  tokens: number;
}

/** Parts of nearly equal size, in order; never an empty one. */
export function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.min(parts, items.length);
  return Array.from({ length: count }, (_, part) =>
    items.slice(Math.floor((part * items.length) / count), Math.floor(((part + 1) * items.length) / count)),
  );
}

/** The turns of groups that are trained in one optimizer step, weighted as the loss aggregation says. Inputs are left to be added. */
export function trainedTurns(
  groups: readonly Group[],
  sequences: ReadonlyMap<Turn, TurnSequence>,
  advantages: PerTurn,
  options: BatchDataOptions,
): TrainedTurn[] {
  const pairs = new Map(
    options.scope === 'pair' ? groups.flatMap((group) => [...pairsOf(group, advantages)]) : [],
  );
  const isTrained = (turn: Turn): boolean =>
    advantages.has(turn) && sequences.has(turn) && (options.scope !== 'pair' || pairs.has(turn));
  const units = unitsOf(groups, options.scope, isTrained);
  const shares = tokenWeights(
    units.map(({ tokens }) => tokens),
    options.aggregation,
    options.constantTokens,
  );
  return units.flatMap(({ turns }, index) => {
    if (options.skipsZeroAdvantages && !turns.some((turn) => hasAdvantage(advantages.get(turn)))) return [];
    return turns.map((turn) => ({
      sequence: sequences.get(turn)!,
      weights: new Float32Array(turn.tokenIds.length).fill(shares[index]),
      inputs: {},
      pair: pairs.get(turn),
    }));
  });
}

function unitsOf(groups: readonly Group[], scope: LossScope, isTrained: (turn: Turn) => boolean): Unit[] {
  const episodes = groups
    .flatMap(({ trajectories }) => trajectories)
    .map(({ turns }) => turns.filter(isTrained));
  const units = scope === 'token' ? episodes.flat().map((turn) => [turn]) : episodes;
  return units
    .filter((turns) => turns.length > 0)
    .map((turns) => ({ turns, tokens: turns.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0) }));
}

function hasAdvantage(advantages: Float32Array | undefined): boolean {
  return advantages?.some((advantage) => advantage !== 0) === true;
}
