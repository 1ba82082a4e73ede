import type { Action } from '@ui-rl/actions';
import type { Box } from '@ui-rl/page-generator';

/** Something that an action may aim at: an element by its id, or a region of the screen. */
export type Target = number | Box;

/** One question about a screen that one action answers. */
export interface Question {
  /** What is asked: the manner of a reference, or a kind of order. */
  intent: string;
  goal: string;
  action: Action;
  /** Any of these is right to aim at; empty where the action has no place. */
  target: readonly Target[];
}

/** One question about a screen that a text answers. */
export interface Reading {
  intent: string;
  goal: string;
  answer: string;
}
