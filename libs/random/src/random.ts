import { uniformGenerator } from './sequence';

/** Random choices from a seeded sequence: equal seeds give equal choices on every machine. */
export class Random {
  /** The next number in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = uniformGenerator(seed);
  }

  /** An integer from 0 to n - 1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  /** A shuffled copy (Fisher-Yates). */
  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [out[i], out[j]] = [out[j], out[i]];
    }
    return out;
  }
}
