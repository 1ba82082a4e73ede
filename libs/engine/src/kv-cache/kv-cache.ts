import type { Feeds } from '../feeds';

export interface KvCacheShape {
  rows: number;
  kvHeads: number;
  /** Tokens a row has memory for, the most its capacity can become. */
  maxLength: number;
  headDim: number;
}

/** Capacities are multiples of so many. */
const CAPACITY_STEP = 32;

/** Names of one layer's keys or values in a graph: the cache it reads, and what it adds. */
export interface KvNames {
  past: string;
  added: string;
}

/** Keys and values of all rows, one tensor per layer and kind, [rows, kvHeads, capacity, headDim]. */
export interface KvCache {
  readonly shape: KvCacheShape;
  /** Tokens each row can hold at present. */
  readonly capacity: number;
  /** What has to be asked of a session so that `append` and `extend` find it. */
  readonly fetches: Record<string, null>;
  /** Makes each row long enough for so many tokens; the first `rows` rows keep what they hold. */
  ensureCapacity(tokens: number, rows: number): void;
  /** The cache of the first `count` rows, as a session reads it; until the next `append` or `extend`. */
  view(count: number): Promise<Feeds>;
  /**
   * Takes over what a pass over prompts gave, [rows of the pass, kvHeads, T, headDim]: so many tokens of each of its rows become
   * the rows from `firstRow` on.
   */
  append(outputs: Feeds, tokens: readonly number[], firstRow: number): Promise<void>;
  /** Takes over what a pass of one token in each of the first rows gave, [rows, kvHeads, 1, headDim], at these positions. */
  extend(outputs: Feeds, positions: readonly number[]): Promise<void>;
  /** Copies the first `tokens` tokens of one row over another. */
  copyRow(from: number, to: number, tokens: number): void;
  /** A cache of longer rows that holds the same rows; this one is no longer used. */
  grown(maxLength: number, rows: number): KvCache;
  /** Forgets all rows. */
  clear(): void;
}

/** Capacity for so many tokens. Throws where it would exceed `maxLength`. */
export function capacityFor(tokens: number, maxLength: number): number {
  if (tokens > maxLength)
    throw new Error(`a row of the cache holds at most ${maxLength} tokens, not ${tokens}`);
  return Math.min(Math.ceil(tokens / CAPACITY_STEP) * CAPACITY_STEP, maxLength);
}
