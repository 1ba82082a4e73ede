import { wilson } from '@ui-rl/contracts';

/** Success rates in percent whose first occurrence is recorded. */
export const MARKS = [50, 80, 90] as const;

/** Consecutive training episodes whose success rate must reach a mark. */
export const WINDOW = 192;

/** A training episode, sampled from the policy of that time. */
export interface PlayedEpisode {
  /** Milliseconds since the start of the training. */
  atMs: number;
  success: boolean;
}

/** When a mark was reached; null if never. */
export type Reached = { episodes: number; seconds: number } | null;

export interface Evaluated {
  successes: number;
  episodes: number;
  /** Wilson, 95 %. */
  interval: [number, number];
}

/** A line of the ledger. */
export interface Row {
  task: string;
  algorithm: string;
  seed: number;
  definition: string;
  commit: string;
  /** ISO 8601, time of the measurement. */
  at: string;
  /** GFLOP/s of matrix products just before, as a measure of the machine under its current load. */
  gflops: number;
  steps: number;
  /** Training episodes played; for rows that learn from stored ones, those. */
  episodes: number;
  invalidShare: number;
  /** Duration of the training. */
  seconds: number;
  /** CPU time of all training processes, by service; `browser` is separate from `env`. */
  processorSeconds: Record<string, number>;
  before: Evaluated | null;
  after: Evaluated;
  /** Mark in percent → when it was reached. */
  marks: Record<string, Reached>;
}

/** A row that lost more of its episodes to infrastructure failures is not meaningful. */
const MOST_INVALID = 0.05;

/** @throws Error if too many episodes were invalid */
export function assertPlayed({ invalidShare }: Pick<Row, 'invalidShare'>): void {
  if (invalidShare > MOST_INVALID)
    throw new Error(`${(100 * invalidShare).toFixed(0)} % of its episodes were invalid: not taken`);
}

export function evaluated(successes: number, episodes: number): Evaluated {
  return { successes, episodes, interval: wilson(successes, episodes) };
}

/** For each mark, the first episode at which the last `WINDOW` ones reached it. */
export function marksOf(played: readonly PlayedEpisode[]): Record<string, Reached> {
  const inOrder = played.toSorted((a, b) => a.atMs - b.atMs);
  return Object.fromEntries(MARKS.map((mark) => [mark, firstTime(inOrder, mark / 100)]));
}

function firstTime(inOrder: readonly PlayedEpisode[], share: number): Reached {
  let successes = 0;
  for (const [index, { atMs, success }] of inOrder.entries()) {
    if (success) successes += 1;
    if (index >= WINDOW && inOrder[index - WINDOW].success) successes -= 1;
    if (index + 1 >= WINDOW && successes >= share * WINDOW)
      return { episodes: index + 1, seconds: atMs / 1000 };
  }
  return null;
}

/**
 * For learning from stored episodes: the marks that the final evaluation reaches, at the cost of the whole training.
 */
export function marksAtTheEnd(
  { successes, episodes }: Evaluated,
  price: Exclude<Reached, null>,
): Record<string, Reached> {
  return Object.fromEntries(MARKS.map((mark) => [mark, successes >= (mark / 100) * episodes ? price : null]));
}
