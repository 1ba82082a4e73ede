import { wilson } from '@ui-rl/contracts';

/** Shares of success whose first time is looked for, in percent. */
export const MARKS = [50, 80, 90] as const;

/** Training episodes in a row whose share of successes has to reach a mark. */
export const WINDOW = 192;

/** A training episode, sampled from the policy as it was then. */
export interface PlayedEpisode {
  /** Milliseconds since the training began. */
  atMs: number;
  success: boolean;
}

/** When a mark was reached; null where it never was. */
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
  /** ISO 8601, when it was taken. */
  at: string;
  /** GFLOP/s of matrix products just before: the machine, with whatever else it was doing. */
  gflops: number;
  steps: number;
  /** Training episodes that were played; of rows that learn from stored ones, those. */
  episodes: number;
  invalidShare: number;
  /** Of the training. */
  seconds: number;
  /** Of the training, of all processes, by service; `browser` is not part of `env`. */
  processorSeconds: Record<string, number>;
  before: Evaluated | null;
  after: Evaluated;
  /** Mark in percent → when it was reached. */
  marks: Record<string, Reached>;
}

/** Of a row whose episodes were lost to the machine more often, nothing can be said. */
const MOST_INVALID = 0.05;

/** @throws Error where too many episodes were invalid */
export function assertPlayed({ invalidShare }: Pick<Row, 'invalidShare'>): void {
  if (invalidShare > MOST_INVALID)
    throw new Error(`${(100 * invalidShare).toFixed(0)} % of its episodes were invalid: not taken`);
}

export function evaluated(successes: number, episodes: number): Evaluated {
  return { successes, episodes, interval: wilson(successes, episodes) };
}

/** The first episode at which the last `WINDOW` ones succeeded often enough, for each mark. */
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

/** Of what was learnt without playing: the marks that the final evaluation reaches, at the price of all. */
export function marksAtTheEnd(
  { successes, episodes }: Evaluated,
  price: Exclude<Reached, null>,
): Record<string, Reached> {
  return Object.fromEntries(MARKS.map((mark) => [mark, successes >= (mark / 100) * episodes ? price : null]));
}
