import { tokenWeights, type LossAggregation } from '@ui-rl/algorithms';
import type { Turn } from '@ui-rl/contracts';
import type { LossScope } from '@ui-rl/plugin-kit';
import type { Group } from '../episodes/groups';
import type { PerTurn } from './experience';
import { pairsOf } from './pairs';
import type { TrainedTurn, TurnSequence } from './turn-data';

/** [T] whether each token of a turn may be trained on, or is too old. */
export type MayTrain = (turn: Turn) => readonly boolean[];

export interface BatchDataOptions {
  scope: LossScope;
  /** Whether turns without an advantage have no gradient: they count in the means, and need not be computed. */
  skipsZeroAdvantages: boolean;
  /** Whether advantages are the weights of imitated episodes. Default false. */
  advantagesAreWeights?: boolean;
  aggregation: LossAggregation;
  constantTokens?: number;
  /** Default: all tokens may be trained on. */
  mayTrain?: MayTrain;
}

/** The unit of a loss value: a turn, or all turns of an episode if the loss has sequence scope. */
interface Unit {
  turns: readonly Turn[];
  tokens: number;
}

/** Parts of nearly equal size, in order, without empty ones. */
export function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.min(parts, items.length);
  return Array.from({ length: count }, (_, part) =>
    items.slice(Math.floor((part * items.length) / count), Math.floor(((part + 1) * items.length) / count)),
  );
}

/**
 * The turns of groups to train on in one optimizer step, weighted by the loss aggregation. The caller adds inputs.
 */
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
 * The turns whose values a critic learns in one optimizer step: a mean over their tokens. The caller adds inputs.
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

/** Drops pairs with tokens that cannot be trained on: a partial episode is not a valid side of a pair. */
function dropPartial(
  pairs: Map<Turn, NonNullable<TrainedTurn['pair']>>,
  isWhole: (turn: Turn) => boolean,
): void {
  const partial = new Set([...pairs].filter(([turn]) => !isWhole(turn)).map(([, { id }]) => id));
  for (const [turn, { id }] of pairs) if (partial.has(id)) pairs.delete(turn);
}

/** @param weights [T] relative weights of a turn's tokens */
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
