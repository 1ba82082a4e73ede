import { tokenWeights, type LossAggregation } from '@ui-rl/algorithms';
import type { Turn } from '@ui-rl/contracts';
import type { LossScope } from '@ui-rl/plugin-kit';
import type { Group } from '../episodes/groups';
import type { PerTurn } from './experience';
import { pairsOf } from './pairs';
import type { TrainedTurn, TurnSequence } from './turn-data';

/** [T] whether each token of a turn may be trained, or is too old. */
export type MayTrain = (turn: Turn) => readonly boolean[];

export interface BatchDataOptions {
  scope: LossScope;
  /** Whether what has no advantage has no gradient: it counts in the means, and need not be computed. */
  skipsZeroAdvantages: boolean;
  /** Whether advantages are the weights of what is imitated; false unless given. */
  advantagesAreWeights?: boolean;
  aggregation: LossAggregation;
  constantTokens?: number;
  /** Unless given, all may be trained. */
  mayTrain?: MayTrain;
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
  const tokensOf = (turn: Turn): number =>
    options.mayTrain?.(turn).filter(Boolean).length ?? turn.tokenIds.length;
  if (options.scope === 'pair') dropPartial(pairs, (turn) => tokensOf(turn) === turn.tokenIds.length);
  const isTrained = (turn: Turn): boolean =>
    advantages.has(turn) &&
    sequences.has(turn) &&
    (options.scope !== 'pair' || pairs.has(turn)) &&
    tokensOf(turn) > 0;
  const units = unitsOf(groups, options.scope, isTrained, tokensOf);
  const shares = tokenWeights(
    units.map(({ tokens }) => tokens),
    options.aggregation,
    options.constantTokens,
  );
  return units.flatMap(({ turns }, index) => {
    if (options.skipsZeroAdvantages && !turns.some((turn) => hasAdvantage(advantages.get(turn)))) return [];
    return turns.map((turn) => ({
      sequence: sequences.get(turn)!,
      weights: tokenShares(
        options.advantagesAreWeights ? advantages.get(turn)! : turn.tokenIds.map(() => 1),
        shares[index],
        options.mayTrain?.(turn),
      ),
      inputs: {},
      pair: pairs.get(turn),
    }));
  });
}

/**
 * The turns whose states a critic learns to value in one optimizer step: a mean over their tokens. Inputs are left to be added.
 * @param mayTrain as in `BatchDataOptions`
 */
export function valuedTurns(
  groups: readonly Group[],
  sequences: ReadonlyMap<Turn, TurnSequence>,
  returns: PerTurn,
  mayTrain: MayTrain,
): TrainedTurn[] {
  return trainedTurns(groups, sequences, returns, {
    scope: 'token',
    skipsZeroAdvantages: false,
    aggregation: 'token-mean',
    mayTrain,
  });
}

/** Takes pairs out of which not all tokens can be trained: of part of an episode its side says nothing. */
function dropPartial(
  pairs: Map<Turn, NonNullable<TrainedTurn['pair']>>,
  isWhole: (turn: Turn) => boolean,
): void {
  const partial = new Set([...pairs].filter(([turn]) => !isWhole(turn)).map(([, { id }]) => id));
  for (const [turn, { id }] of pairs) if (partial.has(id)) pairs.delete(turn);
}

/** @param weights [T] of the tokens of a turn beside one another */
function tokenShares(weights: ArrayLike<number>, share: number, mayTrain?: readonly boolean[]): Float32Array {
  return Float32Array.from(weights, (weight, token) => (mayTrain?.[token] === false ? 0 : weight * share));
}

function unitsOf(
  groups: readonly Group[],
  scope: LossScope,
  isTrained: (turn: Turn) => boolean,
  tokensOf: (turn: Turn) => number,
): Unit[] {
  const episodes = groups
    .flatMap(({ trajectories }) => trajectories)
    .map(({ turns }) => turns.filter(isTrained));
  const units = scope === 'token' ? episodes.flat().map((turn) => [turn]) : episodes;
  return units
    .filter((turns) => turns.length > 0)
    .map((turns) => ({ turns, tokens: turns.reduce((sum, turn) => sum + tokensOf(turn), 0) }));
}

function hasAdvantage(advantages: Float32Array | undefined): boolean {
  return advantages?.some((advantage) => advantage !== 0) === true;
}
