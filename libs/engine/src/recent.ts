import { memoize } from './memoize';

/**
 * A cache of the values for the most recently used keys. Beyond `most`, it releases the least recently used one;
 * finish using a value before requesting others.
 */
export class Recent<V> {
  /** Least recently used first. */
  private readonly known = new Map<string, Promise<V>>();

  constructor(
    private readonly most: number,
    private readonly releaseOne: (made: V) => Promise<void>,
  ) {}

  async get(key: string, make: () => Promise<V>): Promise<V> {
    const made = memoize(this.known, key, make);
    this.known.delete(key);
    this.known.set(key, made);
    await this.releaseAllBut(this.most);
    return made;
  }

  release(): Promise<void> {
    return this.releaseAllBut(0);
  }

  private async releaseAllBut(count: number): Promise<void> {
    const surplus = [...this.known].slice(0, Math.max(0, this.known.size - count));
    for (const [key] of surplus) this.known.delete(key);
    for (const [, made] of surplus) await made.then(this.releaseOne, () => undefined);
  }
}
