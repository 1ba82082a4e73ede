import type { Feeds } from '../feeds';

export interface KvCacheShape {
  rows: number;
  kvHeads: number;
  /** Tokens that a row has memory for, the maximum of its capacity. */
  maxLength: number;
  headDim: number;
}

/** Capacities are multiples of this. */
const CAPACITY_STEP = 32;

/** Names of one layer's keys or values in a graph: the cache input and the additions output. */
export interface KvNames {
  past: string;
  added: string;
}

/** Keys and values of successive tokens, outside of any cache. */
export interface KvSegment {
  readonly tokens: number;
  readonly bytes: number;
  /** Whether a sequence may continue after any of its tokens, not only after the last. */
  readonly continuesAnywhere: boolean;
  /** Adds a holder: it is freed when all holders have called `release`. Created with one holder. */
  retain(): void;
  release(): void;
}

/** Keys and values of all rows, one tensor per layer and kind, [rows, kvHeads, capacity, headDim]. */
export interface KvCache {
  readonly shape: KvCacheShape;
  /** Whether any prefix of a row can be copied out, not only the whole row. */
  readonly continuesAnywhere: boolean;
  /** Tokens that each row can currently hold. */
  readonly capacity: number;
  /** Session outputs that `append` and `extend` require. */
  readonly fetches: Record<string, null>;
  /** Grows each row for this many tokens; the first `rows` rows keep their contents. */
  ensureCapacity(tokens: number, rows: number): void;
  /**
   * The cache of `count` rows from `first` on as session inputs, valid until the cache is changed or viewed again.
   */
  view(count: number, first?: number): Promise<Feeds>;
  /**
   * Stores the results of a prefill pass, [rows of the pass, kvHeads, T, headDim]: the given number of tokens of each
   * of its rows go to the rows from `firstRow` on, after their existing tokens.
   * @param cached tokens that each of those rows has; default: none
   */
  append(
    outputs: Feeds,
    tokens: readonly number[],
    firstRow: number,
    cached?: readonly number[],
  ): Promise<void>;
  /**
   * Stores the results of a pass over one token in each of the first rows, [rows, kvHeads, 1, headDim], at these
   * positions.
   */
  extend(outputs: Feeds, positions: readonly number[]): Promise<void>;
  /** Copies the first `tokens` tokens of one row over another. */
  copyRow(from: number, to: number, tokens: number): void;
  /** Prepares a row for prefill from its first token by a pass that continues other rows. */
  clearRow(row: number): void;
  /** A copy of a row's tokens from `from` up to `to`. */
  copyOut(row: number, from: number, to: number): Promise<KvSegment>;
  /**
   * Copies the first `tokens` tokens of a segment of such a cache into a row, at a position. Preceding rows keep
   * their contents.
   */
  copyIn(segment: KvSegment, tokens: number, row: number, position: number): Promise<void>;
  /** A cache with longer rows and the same contents; this one must not be used afterwards. */
  grown(maxLength: number, rows: number): KvCache;
  /** Removes all rows. */
  clear(): void;
}

/** Capacity for this many tokens. Throws if it would exceed `maxLength`. */
export function capacityFor(tokens: number, maxLength: number): number {
  if (tokens > maxLength)
    throw new Error(`a row of the cache holds at most ${maxLength} tokens, not ${tokens}`);
  return Math.min(Math.ceil(tokens / CAPACITY_STEP) * CAPACITY_STEP, maxLength);
}
