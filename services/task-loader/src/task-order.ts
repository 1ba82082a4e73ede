import { createHash } from 'node:crypto';
import type { TaskPart } from '@ui-rl/plugin-kit';

/** Up to this many tasks are sorted for each epoch; for more, each index is computed separately. */
const MOST_SORTED = 10_000;

/**
 * The order of released tasks: all of them in each epoch, in a different order each time. The same seed gives the
 * same order, so only the group index has to be remembered.
 */
export class TaskOrder {
  private epoch = -1;
  private shuffled: number[] = [];

  /** `length`: number of tasks, at least one. */
  constructor(
    private readonly length: number,
    private readonly seed: number,
  ) {}

  /**
   * The index of a group's task, by the group's index from 0.
   * @param isLeftOut the next task of the epoch replaces an excluded one; if all are excluded, none is replaced
   */
  at(index: number, isLeftOut: (place: number) => boolean = () => false): number {
    return this.next(index, isLeftOut) ?? this.next(index)!;
  }

  /** Like `at`, but undefined if all are excluded. */
  next(index: number, isLeftOut: (place: number) => boolean = () => false): number | undefined {
    const epoch = Math.floor(index / this.length);
    const start = index % this.length;
    for (let step = 0; step < this.length; step++) {
      const place = this.inEpoch(epoch, (start + step) % this.length);
      if (!isLeftOut(place)) return place;
    }
    return undefined;
  }

  private inEpoch(epoch: number, position: number): number {
    const key = `order/${this.seed}/${epoch}`;
    if (this.length > MOST_SORTED) return permuted(position, this.length, key);
    if (epoch !== this.epoch) {
      this.shuffled = shuffled(this.length, key);
      this.epoch = epoch;
    }
    return this.shuffled[position];
  }
}

/** The order of tasks whose sources have weights: each source has its share of the groups, and its own order. */
export class WeightedOrder {
  private readonly orders: TaskOrder[];
  /** Cumulative share of the sources. */
  private readonly bounds: number[];
  /** Number of groups before `counted` by source. */
  private counts: number[];
  private counted = 0;
  private readonly offset: number;

  constructor(
    private readonly parts: readonly TaskPart[],
    seed: number,
  ) {
    this.orders = parts.map(({ length }, index) => new TaskOrder(length, seed + index));
    const weights = parts.map(({ weight = 1 }) => weight);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    this.bounds = weights.map(
      (_, index) => weights.slice(0, index + 1).reduce((sum, each) => sum + each, 0) / total,
    );
    this.counts = parts.map(() => 0);
    this.offset = numberOf(`weights/${seed}`) / 2 ** 32;
  }

  at(index: number, isLeftOut: (place: number) => boolean = () => false): number {
    if (index < this.counted) {
      this.counts = this.parts.map(() => 0);
      this.counted = 0;
    }
    for (; this.counted < index; this.counted++) this.counts[this.partAt(this.counted)] += 1;
    const own = this.partAt(index);
    const count = this.counts[own];
    return (
      this.nextOf(own, count, isLeftOut) ??
      this.fromOthers(own, count, isLeftOut) ??
      this.parts[own].first + this.orders[own].at(count)
    );
  }

  /** The next task of a source; undefined if all of its tasks are excluded. */
  private nextOf(part: number, count: number, isLeftOut: (place: number) => boolean): number | undefined {
    const { first } = this.parts[part];
    const place = this.orders[part].next(count, (each) => isLeftOut(first + each));
    return place === undefined ? undefined : first + place;
  }

  /**
   * The replacement for a source without tasks: tasks of the others, one after the other. Undefined if none has any.
   */
  private fromOthers(own: number, count: number, isLeftOut: (place: number) => boolean): number | undefined {
    const others = this.parts.length - 1;
    for (let step = 0; step < others; step++) {
      const other = (own + 1 + ((count + step) % others)) % this.parts.length;
      const place = this.nextOf(other, Math.floor(count / others), isLeftOut);
      if (place !== undefined) return place;
    }
    return undefined;
  }

  /**
   * Multiples of the golden ratio are evenly distributed, so that every range of groups has approximately the shares
   * of the whole.
   */
  private partAt(index: number): number {
    const at = (this.offset + (index + 1) * ((Math.sqrt(5) - 1) / 2)) % 1;
    return Math.min(
      this.bounds.length - 1,
      this.bounds.findIndex((bound) => at < bound),
    );
  }
}

/** The order of the tasks of some sources. */
export function orderOf(parts: readonly TaskPart[], seed: number): TaskOrder | WeightedOrder {
  const filled = parts.filter(({ length }) => length > 0);
  if (filled.some(({ weight }) => weight !== undefined)) return new WeightedOrder(filled, seed);
  return new TaskOrder(
    filled.reduce((sum, { length }) => sum + length, 0),
    seed,
  );
}

/** Sorts by a hash of key and index only. */
function shuffled(length: number, key: string): number[] {
  const rank = (place: number) => createHash('sha256').update(`${key}/${place}`).digest('hex');
  return Array.from({ length }, (_, place) => ({ place, rank: rank(place) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ place }) => place);
}

const ROUNDS = 4;

/**
 * The position of an element in a shuffle that is never stored: a Feistel network permutes the next larger power of
 * four, and is applied again to results beyond the end.
 */
function permuted(position: number, length: number, key: string): number {
  const half = 2 ** Math.ceil(Math.log2(length) / 2);
  let at = position;
  do {
    let [left, right] = [Math.floor(at / half), at % half];
    for (let round = 0; round < ROUNDS; round++) {
      [left, right] = [right, (left + numberOf(`${key}/${round}/${right}`)) % half];
    }
    at = left * half + right;
  } while (at >= length);
  return at;
}

/** 32 bits of a hash. */
export function numberOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}
