import type { Mutator } from './mutate';

/** One parser, or one service input. */
export interface Target {
  name: string;
  /** The next input. */
  input(mutator: Mutator): Uint8Array;
  /**
   * Takes an input. Returns whether it was accepted.
   * @throws only errors that `isRefusal` recognizes, for any input
   */
  feed(input: Uint8Array): boolean | Promise<boolean>;
  isRefusal?(error: unknown): boolean;
  /** Maximum CPU time for one input; exceeding it is a failure. Without it, only an endless input fails. */
  mostMs?: number;
}

/** Inputs of a target: numbers `from` up to `to`. */
export interface Order {
  target: string;
  seed: number;
  from: number;
  to: number;
}

/** Messages of a process that feeds targets. */
export type Report =
  | { type: 'ready' }
  | ({ type: 'memory'; fed: number } & Memory)
  | { type: 'done'; accepted: number; slowest: Slowest }
  | { type: 'failed'; message: string };

/** Bytes after garbage collection. */
export interface Memory {
  /** Resident set of the process. */
  rss: number;
  /** V8's heap and external arrays. */
  retained: number;
}

/** The input that took the longest. */
export interface Slowest {
  at: number;
  /** CPU time. */
  ms: number;
}

/** The generator state for one input of a target, from which that input can be reproduced alone. */
export function seedOf(seed: number, at: number): number {
  return (Math.imul(seed, 0x9e3779b1) + at) | 0;
}
