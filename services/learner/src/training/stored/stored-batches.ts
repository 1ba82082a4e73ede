import { Random, seedFor } from '@ui-rl/random';
import type { LossScope } from '@ui-rl/plugin-kit';
import { rankedPairs } from '../pairs';
import type { EpisodeNote } from './stored-episodes';

/** The unit of a batch: an episode, or the better and the worse one of a pair. */
export type Unit = readonly EpisodeNote[];

/**
 * The training units of episodes: those whose return exceeds the threshold; for a loss over pairs, the best and the
 * worst of each task and start, then the next ones, while their returns differ.
 */
export function unitsOf(episodes: readonly EpisodeNote[], scope: LossScope, rewardThreshold: number): Unit[] {
  if (scope !== 'pair') {
    return episodes.filter(({ reward }) => reward > rewardThreshold).map((episode) => [episode]);
  }
  const starts = new Map<string, EpisodeNote[]>();
  for (const episode of episodes) {
    starts.set(episode.start, [...(starts.get(episode.start) ?? []), episode]);
  }
  return [...starts.values()].flatMap((comparable) => rankedPairs(comparable, ({ reward }) => reward));
}

export interface BatchesOptions {
  /** Units per step; fewer in the last one of an epoch. */
  batchSize: number;
  /** Passes over all units; ignored if `steps` is given. */
  epochs: number;
  steps?: number | undefined;
  seed: number;
}

/** The units of each step: every epoch contains all of them once, in an order that depends only on seed and epoch. */
export class StoredBatches {
  readonly steps: number;
  private readonly perEpoch: number;

  constructor(
    private readonly units: number,
    private readonly options: BatchesOptions,
  ) {
    this.perEpoch = Math.ceil(units / options.batchSize);
    this.steps = options.steps ?? options.epochs * this.perEpoch;
  }

  /** Number of passes over all units after this many steps. */
  epochsAfter(steps: number): number {
    return steps / this.perEpoch;
  }

  /** Indices of the units of a step. @param step from 0 */
  at(step: number): number[] {
    const { batchSize, seed } = this.options;
    const [epoch, place] = [Math.floor(step / this.perEpoch), step % this.perEpoch];
    const all = Array.from({ length: this.units }, (_, index) => index);
    const order = new Random(seedFor(`warm start ${epoch}`, seed)).shuffled(all);
    return order.slice(place * batchSize, (place + 1) * batchSize);
  }
}
