import { availableParallelism } from 'node:os';
import { Feeder, type FeederOptions, type Turn } from './feeder';
import type { Order } from './target';
import { type Trend, trendOf } from '@ui-rl/testkit';

export interface FuzzOptions extends FeederOptions {
  /** Default: the number of cores. */
  processes?: number;
  onTurn?: (turn: Turn) => void | Promise<void>;
  /** Stops starting orders when it returns true. */
  isOver?: () => boolean;
}

export interface Fuzzed {
  turns: Turn[];
  /** Resident bytes of each process from its first to its last input. */
  processes: Trend[];
}

/** Executes orders in several processes; every process feeds many targets. */
export async function fuzz(next: () => Order | undefined, options: FuzzOptions = {}): Promise<Fuzzed> {
  const turns: Turn[] = [];
  const feeders = Array.from(
    { length: options.processes ?? availableParallelism() },
    () => new Feeder(options),
  );
  const work = async (feeder: Feeder): Promise<void> => {
    while (options.isOver?.() !== true) {
      const order = next();
      if (order === undefined) return;
      const turn = await feeder.feed(order);
      turns.push(turn);
      await options.onTurn?.(turn);
    }
  };
  try {
    await Promise.all(feeders.map(work));
    return { turns, processes: feeders.map(({ rss }) => trendOf(rss)) };
  } finally {
    await Promise.all(feeders.map((feeder) => feeder.stop()));
  }
}
