import type { Task } from '@ui-rl/contracts';

/** A visible element as a page describes it. Box is [x, y, width, height] in pixels. */
export interface DescribedElement {
  kind: string;
  label: string;
  box: [number, number, number, number];
  value?: string;
  focused?: boolean;
}

/** The oracle's input: the results of the page's `uirl.state()` and `uirl.describe()`. */
export interface OracleObservation {
  state: Record<string, unknown>;
  elements: DescribedElement[];
}

export interface PretrainingGoal {
  task: Task;
  /** Screen on which the goal is decided. */
  place: string;
  /** Equivalent to a goal of the evaluation, and therefore never demonstrated. */
  evaluation: boolean;
}

/** Screens and goals to pre-train a small model on. The oracle of the same source demonstrates the goals. */
export interface PretrainingSupport {
  viewport: { width: number; height: number };
  /** Every word of labels, goals and screen descriptions, without numbers. */
  vocabulary(): string[];
  goals(): Iterable<PretrainingGoal>;
  /** The same task from another screen. */
  startingFrom(task: Task, screen: string): Task;
  /** A screen as text, one line per element. */
  sceneText: (elements: readonly DescribedElement[]) => string;
}
