import type { SampleClass } from '@ui-rl/plugin-kit';

/** Relative shares of a device when several classes of callers compete for it. */
export const SHARES: Readonly<Record<SampleClass, number>> = { training: 4, evaluation: 2, outside: 2 };

/**
 * Device time used by each class relative to its share (weighted fair queueing by virtual time, as in start-time fair
 * queueing, Goyal et al. 1996): the class with the least use is next. A class that was idle resumes at the current
 * virtual time, without credit.
 */
export class FairShares {
  private readonly had: Record<SampleClass, number> = { training: 0, evaluation: 0, outside: 0 };
  private now = 0;

  /** A copy for looking ahead. */
  copy(): FairShares {
    const copy = new FairShares();
    Object.assign(copy.had, this.had);
    copy.now = this.now;
    return copy;
  }

  /** The class among these that is next. */
  next(classes: readonly SampleClass[]): SampleClass {
    const begun = (each: SampleClass): number => Math.max(this.had[each], this.now);
    return classes.reduce((best, each) => (begun(each) < begun(best) ? each : best));
  }

  /** Charges the amount to the class that was next. */
  charge(to: SampleClass, amount: number): void {
    this.now = Math.max(this.now, this.had[to]);
    this.had[to] = this.now + amount / SHARES[to];
  }
}

/** Waiting items, by class in order of arrival. */
export class FairQueue<T> {
  private readonly waiting: Record<SampleClass, T[]> = { training: [], evaluation: [], outside: [] };

  /** @param cost device use of an item, in any unit */
  constructor(
    private readonly shares: FairShares,
    private readonly classOf: (item: T) => SampleClass,
    private readonly cost: (item: T) => number,
  ) {}

  get length(): number {
    return Object.values(this.waiting).reduce((sum, items) => sum + items.length, 0);
  }

  /** Classes with waiting items. */
  get classes(): SampleClass[] {
    return (Object.keys(this.waiting) as SampleClass[]).filter((each) => this.waiting[each].length > 0);
  }

  push(item: T): void {
    this.waiting[this.classOf(item)].push(item);
  }

  /** All items in the order in which they would be taken one by one. */
  inOrder(): T[] {
    const shares = this.shares.copy();
    const rest = Object.entries(this.waiting).map(([name, items]) => ({
      name: name as SampleClass,
      items,
      at: 0,
    }));
    const order: T[] = [];
    for (;;) {
      const left = rest.filter(({ items, at }) => at < items.length);
      if (left.length === 0) return order;
      const name = shares.next(left.map((each) => each.name));
      const queue = left.find((each) => each.name === name)!;
      const item = queue.items[queue.at++];
      shares.charge(name, this.cost(item));
      order.push(item);
    }
  }

  /** Removes items to process them. */
  take(items: Iterable<T>): void {
    for (const item of items) {
      if (this.remove(item)) this.shares.charge(this.classOf(item), this.cost(item));
    }
  }

  /** Removes an item that is no longer needed; returns whether it was present. */
  remove(item: T): boolean {
    const queue = this.waiting[this.classOf(item)];
    const index = queue.indexOf(item);
    if (index >= 0) queue.splice(index, 1);
    return index >= 0;
  }

  /** Removes all items. */
  clear(): T[] {
    return Object.values(this.waiting).flatMap((items) => items.splice(0));
  }
}
