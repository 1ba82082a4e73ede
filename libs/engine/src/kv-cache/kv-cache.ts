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

/** Keys and values of successive tokens, outside of any cache. */
export interface KvSegment {
  readonly tokens: number;
  readonly bytes: number;
  /** Whether what is read may go on behind any of its tokens, not only behind the last. */
  readonly continuesAnywhere: boolean;
  /** Keeps it from being freed until `release` has been called once more. Made with one holder. */
  retain(): void;
  release(): void;
}

/** Keys and values of all rows, one tensor per layer and kind, [rows, kvHeads, capacity, headDim]. */
export interface KvCache {
  readonly shape: KvCacheShape;
  /** Whether any beginning of a row can be copied out, not only the whole. */
  readonly continuesAnywhere: boolean;
  /** Tokens each row can hold at present. */
  readonly capacity: number;
  /** What has to be asked of a session so that `append` and `extend` find it. */
  readonly fetches: Record<string, null>;
  /** Makes each row long enough for so many tokens; the first `rows` rows keep what they hold. */
  ensureCapacity(tokens: number, rows: number): void;
  /** The cache of `count` rows from `first` on, as a session reads it; until the cache is changed or viewed again. */
  view(count: number, first?: number): Promise<Feeds>;
  /**
   * Takes over what a pass over prompts gave, [rows of the pass, kvHeads, T, headDim]: so many tokens of each of its rows stand in the
   * rows from `firstRow` on, behind the tokens those have.
   * @param cached tokens that each of those rows has; none unless given
   */
  append(
    outputs: Feeds,
    tokens: readonly number[],
    firstRow: number,
    cached?: readonly number[],
  ): Promise<void>;
  /** Takes over what a pass of one token in each of the first rows gave, [rows, kvHeads, 1, headDim], at these positions. */
  extend(outputs: Feeds, positions: readonly number[]): Promise<void>;
  /** Copies the first `tokens` tokens of one row over another. */
  copyRow(from: number, to: number, tokens: number): void;
  /** Makes a row ready to be read from its first token on by a pass that goes on in others. */
  clearRow(row: number): void;
  /** A copy of a row's tokens from `from` up to `to`. */
  copyOut(row: number, from: number, to: number): Promise<KvSegment>;
  /** Puts the first `tokens` tokens of a segment of such a cache into a row, at a position. Rows before it keep what they hold. */
  copyIn(segment: KvSegment, tokens: number, row: number, position: number): Promise<void>;
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
