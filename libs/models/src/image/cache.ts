/** Least recently used values by key, as long as they fit into a number of bytes together. */
export class ByteBudgetCache<T> {
  private readonly entries = new Map<string, { value: T; bytes: number }>();
  private used = 0;

  constructor(readonly maxBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  /** A value larger than the whole budget is not kept. */
  set(key: string, value: T, bytes: number): void {
    this.delete(key);
    if (bytes > this.maxBytes) return;
    this.entries.set(key, { value, bytes });
    this.used += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.used <= this.maxBytes) break;
      this.delete(oldest);
    }
  }

  private delete(key: string): void {
    this.used -= this.entries.get(key)?.bytes ?? 0;
    this.entries.delete(key);
  }
}
