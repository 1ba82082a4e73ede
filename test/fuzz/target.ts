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
}

/** How many of the inputs were taken and refused so far. */
export interface Counts {
  fed: number;
  accepted: number;
}

/** What a process that feeds a target says. */
export type Report =
  | ({ type: 'progress' } & Counts)
  | ({ type: 'memory'; bytes: number } & Counts)
  | { type: 'failed'; at: number; message: string };

/** The state of the generator for one input of a target: that input can be made again alone. */
export function seedOf(seed: number, at: number): number {
  return (Math.imul(seed, 0x9e3779b1) + at) | 0;
}
