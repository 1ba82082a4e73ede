import type { Action } from '@ui-rl/actions';
import type { Box } from '@ui-rl/page-generator';

/** The target of an action: an element by its id, or a region of the screen. */
export type Target = number | Box;

/** A question about a screen, answered by one action. */
export interface Question {
  /** The kind of reference, or the kind of instruction. */
  intent: string;
  goal: string;
  action: Action;
  /** Any of these targets is correct; empty for actions without a position. */
  target: readonly Target[];
  /** Earlier actions for the same goal, oldest first. */
  past?: readonly Action[];
}

/** A question about a screen, answered by text. */
export interface Reading {
  intent: string;
  goal: string;
  answer: string;
}
