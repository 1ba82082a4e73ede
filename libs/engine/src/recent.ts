import { memoize } from './memoize';

/**
 * What was made for the keys that were asked for last. Of more than `most` the one that nobody has asked for longest is released: who
 * uses one must be done with it before others are asked for.
 */
export class Recent<V> {
  /** In the order in which they were asked for last. */
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
