/** Something that can be made again, and is kept as long as there is memory for it. */
export interface Cached {
  /** Which cache it belongs to, for people: `prefixes`, `image features`. */
  readonly kind: string;
  readonly bytes: number;
  /** Called once it is no longer kept. */
  drop(): void;
}

/** Mebibytes for all caches of a device, unless told otherwise. */
export const CACHE_MEMORY_MB = 512;

/** The memory that all caches of a device share: what was not used for longest is dropped first, whatever it is. */
export class CacheMemory {
  /** Least recently used first. */
  private readonly kept = new Set<Cached>();
  private used = 0;
  private dropped = 0;

  constructor(readonly limitBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** What was dropped because there was no memory for it. */
  get evictions(): number {
    return this.dropped;
  }

  /** Bytes by kind. */
  get usage(): Record<string, number> {
    const usage: Record<string, number> = {};
    for (const { kind, bytes } of this.kept) usage[kind] = (usage[kind] ?? 0) + bytes;
    return usage;
  }

  /** Keeps something new; false where it does not fit beside `besides` bytes that must stay. */
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

  /** Drops everything. */
  clear(): void {
    for (const item of [...this.kept].toReversed()) this.remove(item);
  }

  /** Says that something was used. */
  touch(item: Cached): void {
    if (this.kept.delete(item)) this.kept.add(item);
  }

  /** Drops something that is of no use any more. */
  remove(item: Cached): void {
    if (!this.kept.delete(item)) return;
    this.used -= item.bytes;
    item.drop();
  }
}
