import type { KvCache, KvSegment } from '../kv-cache/kv-cache';
import type { WeightSet } from '../weights/weight-set';
import type { Cached, CacheMemory } from './cache-memory';
import { commonLength, type Sequence } from './sequence';

/** Granularity of prefix lookups in tokens; shorter prefixes are not worth a lookup. */
export const PREFIX_STEP = 16;

/** The first `tokens` tokens of an entry's sequence. */
export interface Prefix {
  entry: PrefixEntry;
  tokens: number;
}

/** Keys and values of a sequence: a prefix shared with another entry, and its own tokens after it. */
class PrefixEntry implements Cached {
  readonly kind = 'prefixes';
  /** Entries that continue this one. */
  readonly continuations = new Set<PrefixEntry>();

  constructor(
    private readonly cache: PrefixCache,
    readonly weights: number,
    readonly sequence: Sequence,
    readonly before: Prefix | undefined,
    readonly segment: KvSegment,
    /** Lookup keys: one for each step within its own tokens. */
    readonly keys: readonly string[],
  ) {}

  get bytes(): number {
    return this.segment.bytes;
  }

  /** Number of tokens that other entries hold. */
  get from(): number {
    return this.before?.tokens ?? 0;
  }

  get length(): number {
    return this.sequence.tokenIds.length;
  }

  drop(): void {
    this.cache.forgetEntry(this);
    this.segment.release();
  }
}

/**
 * Keys and values of prompts and samples, by the weights that computed them. A prompt that starts with a known
 * sequence, such as the next turn of an episode, is prefilled only from there on. Entries form a tree, so that each
 * token is stored once. Using an entry also marks its ancestors as used, so that leaves are evicted first.
 */
export class PrefixCache {
  private readonly found = new Map<string, PrefixEntry>();
  /** All entries by their weights. */
  private readonly entries = new Map<number, Set<PrefixEntry>>();

  constructor(private readonly memory: CacheMemory) {}

  get limitBytes(): number {
    return this.memory.limitBytes;
  }

  /** The longest known prefix of a sequence, of at least one step; marks its ancestors as used. */
  find(weights: WeightSet, sequence: Sequence): Prefix | undefined {
    const best = this.longest(keysOf(weights.id, sequence), sequence);
    if (best !== undefined) for (const part of underneath(best.entry)) this.memory.touch(part);
    return best;
  }

  /** Copies a prefix into a row of a cache. */
  async read(prefix: Prefix, cache: KvCache, row: number): Promise<void> {
    const parts: Prefix[] = [];
    for (let part: Prefix | undefined = prefix; part !== undefined; part = beforeOf(part)) {
      if (part.tokens > part.entry.from) parts.push(part);
    }
    for (const { entry } of parts) entry.segment.retain();
    try {
      // In ascending order: on a device, the first part creates the row.
      for (const { entry, tokens } of parts.toReversed()) {
        await cache.copyIn(entry.segment, tokens - entry.from, row, entry.from);
      }
    } finally {
      for (const { entry } of parts) entry.segment.release();
    }
  }

  /** Stores a sequence that is in a row of a cache, if it gains at least a step and memory allows. */
  async keep(weights: WeightSet, sequence: Sequence, cache: KvCache, row: number): Promise<void> {
    const { length } = sequence.tokenIds;
    if (length < PREFIX_STEP || this.memory.limitBytes === 0) return;
    const known = this.find(weights, sequence);
    if (known?.tokens === length) return;
    const from = known?.tokens ?? 0;
    const segment = await cache.copyOut(row, from, length);
    const before = this.find(weights, sequence);
    if ((before?.tokens ?? 0) === from) this.add(weights.id, sequence, before, segment);
    else segment.release();
  }

  /** Drops the entries of weights that can no longer be requested. */
  forget(weights: WeightSet): void {
    for (const entry of this.entries.get(weights.id) ?? []) this.memory.remove(entry);
    this.entries.delete(weights.id);
  }

  /** Called by an evicted entry. */
  forgetEntry(entry: PrefixEntry): void {
    for (const key of entry.keys) if (this.found.get(key) === entry) this.found.delete(key);
    entry.before?.entry.continuations.delete(entry);
    this.entries.get(entry.weights)?.delete(entry);
  }

  private add(weights: number, sequence: Sequence, before: Prefix | undefined, segment: KvSegment): void {
    const keys = keysOf(weights, sequence).slice(Math.floor((before?.tokens ?? 0) / PREFIX_STEP));
    const entry = new PrefixEntry(this, weights, sequence, before, segment, keys);
    const under = before === undefined ? [] : underneath(before.entry);
    const besides = under.reduce((sum, { bytes }) => sum + bytes, 0);
    if (!this.memory.keep(entry, besides)) {
      segment.release();
      return;
    }
    for (const part of under) this.memory.touch(part);
    for (const key of keys) {
      // Entries that can only be continued at their end may share leading steps: their later steps distinguish them.
      if (segment.continuesAnywhere || !this.found.has(key)) this.found.set(key, entry);
    }
    const others = this.entries.get(weights) ?? new Set();
    this.entries.set(weights, others.add(entry));
    if (before?.tokens === before?.entry.length) before?.entry.continuations.add(entry);
  }

  /** @param keys of the sequence's steps */
  private longest(keys: readonly string[], sequence: Sequence): Prefix | undefined {
    let entry: PrefixEntry | undefined;
    for (const key of keys) {
      const next = this.found.get(key);
      if (next === undefined) break;
      entry = next;
    }
    if (entry?.segment.continuesAnywhere === false) return this.longestWhole(keys, sequence);
    if (entry === undefined) return undefined;
    let tokens = commonLength(entry.sequence, sequence);
    // Follows continuations shorter than a step, such as short answers.
    for (let next = continuing(entry, tokens, sequence); next !== undefined;) {
      [entry, tokens] = [next, commonLength(next.sequence, sequence, tokens)];
      next = continuing(entry, tokens, sequence);
    }
    return tokens < PREFIX_STEP ? undefined : { entry, tokens };
  }

  /** The longest entry that is a prefix of the sequence as a whole. */
  private longestWhole(keys: readonly string[], sequence: Sequence): Prefix | undefined {
    const known = new Set(keys.flatMap((key) => this.found.get(key) ?? []).flatMap(underneath));
    let best: PrefixEntry | undefined;
    for (const entry of known) {
      if (entry.length > (best?.length ?? 0) && isBeginningOf(entry, sequence)) best = entry;
    }
    // Follows continuations shorter than a step, such as short answers.
    for (let next = best; next !== undefined;) {
      best = next;
      next = [...best.continuations].find((entry) => isBeginningOf(entry, sequence));
    }
    return best === undefined ? undefined : { entry: best, tokens: best.length };
  }
}

function isBeginningOf({ sequence: beginning, length }: PrefixEntry, sequence: Sequence): boolean {
  return length <= sequence.tokenIds.length && commonLength(beginning, sequence) === length;
}

/**
 * An entry and its ancestors, leaf first: touching them in this order makes each ancestor more recently used than its
 * descendants.
 */
function underneath(top: PrefixEntry): PrefixEntry[] {
  const entries: PrefixEntry[] = [];
  for (let entry: PrefixEntry | undefined = top; entry !== undefined; entry = entry.before?.entry)
    entries.push(entry);
  return entries;
}

/** An entry that continues another one's end as the sequence does. */
function continuing(entry: PrefixEntry, tokens: number, sequence: Sequence): PrefixEntry | undefined {
  if (tokens < entry.length) return undefined;
  return [...entry.continuations].find((next) => commonLength(next.sequence, sequence, tokens) > tokens);
}

/** The part of a prefix that other entries hold. */
function beforeOf({ entry, tokens }: Prefix): Prefix | undefined {
  const { before } = entry;
  return before === undefined ? undefined : { entry: before.entry, tokens: Math.min(before.tokens, tokens) };
}

/** One key per whole step: equal for sequences with equal beginnings; collisions are rare. */
function keysOf(weights: number, { tokenIds, images }: Sequence): string[] {
  const keys: string[] = [];
  let hash = 0x811c9dc5;
  let other = weights | 0;
  let image = 0;
  const mix = (value: number): void => {
    hash = Math.imul(hash ^ value, 0x01000193);
    other = Math.imul(other ^ value, 0x5bd1e995) + 0x9e3779b9;
    other ^= other >>> 15;
  };
  for (let place = 0; place < tokenIds.length; place += 1) {
    mix(tokenIds[place]);
    if (images[image]?.start === place) {
      for (let index = 0; index < images[image].key.length; index += 1)
        mix(images[image].key.charCodeAt(index));
      image += 1;
    }
    if ((place + 1) % PREFIX_STEP === 0) keys.push(`${weights} ${place + 1} ${hash >>> 0} ${other >>> 0}`);
  }
  return keys;
}
