/** A set of non-negative integers, stored as ranges: `0-79,81`. */
export class IndexSet {
  private ranges: [first: number, last: number][] = [];

  static parse(text: string): IndexSet {
    const set = new IndexSet();
    for (const part of text.split(',').filter((piece) => piece !== '')) {
      const match = /^(\d+)(?:-(\d+))?$/.exec(part);
      if (match === null) throw new Error(`"${part}" is not a range of whole numbers`);
      set.ranges.push([Number(match[1]), Number(match[2] ?? match[1])]);
    }
    return set;
  }

  /** The members, in order. */
  *[Symbol.iterator](): Generator<number> {
    for (const [first, last] of this.ranges) for (let index = first; index <= last; index += 1) yield index;
  }

  has(index: number): boolean {
    return this.ranges.some(([first, last]) => index >= first && index <= last);
  }

  add(index: number): void {
    if (this.has(index)) return;
    const after = this.ranges.findIndex(([first]) => first > index);
    this.ranges.splice(after < 0 ? this.ranges.length : after, 0, [index, index]);
    this.merge();
  }

  /** The smallest number that is not in the set. */
  get firstMissing(): number {
    return this.ranges.length > 0 && this.ranges[0][0] === 0 ? this.ranges[0][1] + 1 : 0;
  }

  get size(): number {
    return this.ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  toString(): string {
    return this.ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
  }

  private merge(): void {
    const merged: [number, number][] = [];
    for (const [first, last] of this.ranges) {
      const previous = merged.at(-1);
      if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
      else merged.push([first, last]);
    }
    this.ranges = merged;
  }
}
