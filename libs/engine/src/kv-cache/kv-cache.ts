import type { Feeds } from '../pass-runner';

export interface KvCacheShape {
  rows: number;
  kvHeads: number;
  /** Tokens a row has memory for. */
  room: number;
  headDim: number;
}

/** Places per row come in multiples of so many. */
const CAPACITY_STEP = 32;

/** Names of one layer's keys or values in a graph: the cache it reads, and what it adds. */
export interface KvNames {
  past: string;
  added: string;
}

/** Keys and values of all rows, one tensor per layer and kind, [rows, kvHeads, capacity, headDim]. */
export interface KvCache {
  readonly shape: KvCacheShape;
  /** Tokens each row has places for at present. */
  readonly capacity: number;
  /** What has to be asked of a session so that `append` and `extend` find it. */
  readonly fetches: Record<string, null>;
  /** Makes places for so many tokens in each row; the first `rows` rows keep what they hold. */
  widen(tokens: number, rows: number): void;
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
  /** A cache with room for more tokens that holds the same rows; this one is no longer used. */
  grown(room: number, rows: number): KvCache;
  /** Forgets all rows. */
  clear(): void;
}

/** Places for so many tokens, within the room there is. Throws where there is not enough. */
export function capacityFor(tokens: number, room: number): number {
  if (tokens > room) throw new Error(`the cache has room for ${room} tokens in a row, not for ${tokens}`);
  return Math.min(Math.ceil(tokens / CAPACITY_STEP) * CAPACITY_STEP, room);
}
