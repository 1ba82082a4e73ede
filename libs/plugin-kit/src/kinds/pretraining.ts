import type { Task } from '@ui-rl/contracts';

/** A visible element as a page describes it. Box is [x, y, width, height] in pixels. */
export interface DescribedElement {
  kind: string;
  label: string;
  box: [number, number, number, number];
  value?: string;
  focused?: boolean;
}

/** What the oracle looks at: what the page's `uirl.state()` and `uirl.describe()` return. */
export interface OracleObservation {
  state: Record<string, unknown>;
  elements: DescribedElement[];
}

export interface PretrainingGoal {
  task: Task;
  /** Screen where the goal is decided. */
  place: string;
  /** It means the same as a goal of the evaluation and is never demonstrated. */
  evaluation: boolean;
}

/** Screens and goals to pre-train a small model on. The oracle of the same source shows how goals are reached. */
export interface PretrainingSupport {
  viewport: { width: number; height: number };
  /** Every word of labels, goals and screen descriptions; numbers are not among them. */
  vocabulary(): string[];
  goals(): Iterable<PretrainingGoal>;
  /** The same task from another screen. */
  startingFrom(task: Task, screen: string): Task;
  /** A screen as text, one line per element. */
  sceneText: (elements: readonly DescribedElement[]) => string;
}
