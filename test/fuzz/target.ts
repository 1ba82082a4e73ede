import type { Mutator } from './mutate';

/** One parser, or one way in. */
export interface Target {
  name: string;
  /** The next input. */
  input(mutator: Mutator): Uint8Array;
  /**
   * Takes an input. Returns whether it was accepted.
   * @throws what `isRefusal` knows, and nothing else, whatever the input is
   */
  feed(input: Uint8Array): boolean | Promise<boolean>;
  isRefusal?(error: unknown): boolean;
  /** Longest processor time for one input; longer is a failure. Without it only what never returns is. */
  mostMs?: number;
}

/** Inputs of a target: numbers `from` up to `to`. */
export interface Order {
  target: string;
  seed: number;
  from: number;
  to: number;
}

/** What a process that feeds targets says. */
export type Report =
  | { type: 'ready' }
  | ({ type: 'memory'; fed: number } & Memory)
  | { type: 'done'; accepted: number; slowest: Slowest }
  | { type: 'failed'; message: string };

/** Bytes after garbage is collected. */
export interface Memory {
  /** Of the process, as the system sees it. */
  rss: number;
  /** Of V8's heap and of arrays outside it. */
  retained: number;
}

/** The input that took the longest. */
export interface Slowest {
  at: number;
  /** Processor time. */
  ms: number;
}

/** The state of the generator for one input of a target: that input can be made again alone. */
export function seedOf(seed: number, at: number): number {
  return (Math.imul(seed, 0x9e3779b1) + at) | 0;
}
