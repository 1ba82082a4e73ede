/** A cached item that can be recomputed, and is kept while memory allows. */
export interface Cached {
  /** Name of its cache for reports: `prefixes`, `image features`. */
  readonly kind: string;
  readonly bytes: number;
  /** Called when the item is evicted. */
  drop(): void;
}

/** Default size of all caches of a device together, in MiB. */
export const CACHE_MEMORY_MB = 512;

/** The memory budget that all caches of a device share. Evicts the least recently used item of any cache. */
export class CacheMemory {
  /** Least recently used first. */
  private readonly kept = new Set<Cached>();
  private used = 0;
  private dropped = 0;

  constructor(readonly limitBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** Number of items evicted for lack of memory. */
  get evictions(): number {
    return this.dropped;
  }

  /** Bytes by kind. */
  get usage(): Record<string, number> {
    const usage: Record<string, number> = {};
    for (const { kind, bytes } of this.kept) usage[kind] = (usage[kind] ?? 0) + bytes;
    return usage;
  }

  /** Adds an item; returns false if it does not fit beside `besides` bytes that must stay. */
  keep(item: Cached, besides = 0): boolean {
    if (item.bytes + besides > this.limitBytes) return false;
    for (const oldest of this.kept) {
      if (this.used + item.bytes <= this.limitBytes) break;
      this.remove(oldest);
      this.dropped += 1;
    }
    this.kept.add(item);
    this.used += item.bytes;
    return true;
  }

  clear(): void {
    for (const item of [...this.kept].toReversed()) this.remove(item);
  }

  /** Marks an item as used. */
  touch(item: Cached): void {
    if (this.kept.delete(item)) this.kept.add(item);
  }

  /** Removes an item that is no longer needed. */
  remove(item: Cached): void {
    if (!this.kept.delete(item)) return;
    this.used -= item.bytes;
    item.drop();
  }
}
