import { EngineError } from '../errors';
import type { ByteRange, Pattern } from './pattern';

/** The state without transitions. */
export const DEAD = -1;
const UNKNOWN = -2;
/** Maximum number of places in a pattern, with repeats expanded. */
const MAX_PLACES = 50_000;
/**
 * Maximum number of simultaneous places of a state: each costs time for every byte of every token. The project's own
 * grammars have two hundred at most.
 */
const MAX_STATE_PLACES = 1_000;
/** Maximum number of states; each takes a kilobyte. */
const MAX_STATES = 50_000;

interface Place {
  /** Transitions by byte. */
  steps: { ranges: readonly ByteRange[]; to: number }[];
  /** Transitions without input (epsilon). */
  free: number[];
}

/**
 * The bytes that a pattern allows next, as a deterministic automaton whose states are created on first use
 * (Thompson's construction with the subset construction). The end is reachable from every state but {@link DEAD}.
 */
export class Automaton {
  readonly start: number;
  private readonly places: Place[] = [];
  private readonly states: { places: readonly number[]; next: Int32Array }[] = [];
  private readonly known = new Map<string, number>();
  private readonly end: number;

  constructor(pattern: Pattern) {
    this.end = this.place();
    this.start = this.stateOf([this.build(pattern, this.end)]);
  }

  /** Whether the pattern may end in a state. */
  isEnd(state: number): boolean {
    return this.states[state].places.includes(this.end);
  }

  /** The state after a byte. */
  next(state: number, byte: number): number {
    const { places, next } = this.states[state];
    if (next[byte] === UNKNOWN) {
      const reached = places.flatMap((place) =>
        this.places[place].steps.flatMap(({ ranges, to }) =>
          ranges.some(([low, high]) => byte >= low && byte <= high) ? [to] : [],
        ),
      );
      next[byte] = reached.length === 0 ? DEAD : this.stateOf(reached);
    }
    return next[byte];
  }

  /** The state for these places and all that epsilon transitions reach from them. */
  private stateOf(reached: readonly number[]): number {
    const all = new Set<number>();
    const left = [...reached];
    for (let place = left.pop(); place !== undefined; place = left.pop()) {
      if (all.has(place)) continue;
      all.add(place);
      left.push(...this.places[place].free);
    }
    const places = [...all].filter((each) => each === this.end || this.places[each].steps.length > 0);
    if (places.length > MAX_STATE_PLACES) {
      throw new EngineError(
        'request',
        `the grammar can be in more than ${MAX_STATE_PLACES} places at once: write fewer optional parts behind one another, such as (a?){1000}`,
      );
    }
    const key = places.toSorted((a, b) => a - b).join();
    let state = this.known.get(key);
    if (state === undefined) {
      state = this.states.length;
      if (state === MAX_STATES) {
        throw new EngineError('request', `the grammar has more than ${MAX_STATES} states: make it simpler`);
      }
      this.states.push({ places, next: new Int32Array(256).fill(UNKNOWN) });
      this.known.set(key, state);
    }
    return state;
  }

  private place(): number {
    if (this.places.length === MAX_PLACES) {
      throw new EngineError(
        'request',
        `the grammar has more than ${MAX_PLACES} places once its repeats are written out`,
      );
    }
    this.places.push({ steps: [], free: [] });
    return this.places.length - 1;
  }

  /** Builds the pattern before place `to`; returns its start place. */
  private build(pattern: Pattern, to: number): number {
    switch (pattern.type) {
      case 'bytes': {
        const place = this.place();
        this.places[place].steps.push({ ranges: pattern.ranges, to });
        return place;
      }
      case 'sequence':
        return pattern.parts.reduceRight((next, part) => this.build(part, next), to);
      case 'choice': {
        const place = this.place();
        for (const option of pattern.options) this.places[place].free.push(this.build(option, to));
        return place;
      }
      case 'repeat':
        return this.repeat(pattern, to);
    }
  }

  private repeat({ part, min, max }: Extract<Pattern, { type: 'repeat' }>, to: number): number {
    let begin = to;
    if (max === Infinity) {
      begin = this.place();
      this.places[begin].free.push(to, this.build(part, begin));
    }
    for (let count = max === Infinity ? min : max; count > 0; count -= 1) {
      const inner = this.build(part, begin);
      if (count <= min) {
        begin = inner;
        continue;
      }
      begin = this.place();
      this.places[begin].free.push(to, inner);
    }
    return begin;
  }
}
