import type { Action } from '@ui-rl/actions';
import type { GeneratedPage, PlacedKind, SceneKind } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import type { ScreenView } from '../screen/view';
import type { Target } from '../questions/question';
import type { Split } from '../wording/phrases';

/** One action towards a goal. */
export interface Step {
  action: Action;
  /** Its target; for a drag, start and end. Empty for actions without a position. */
  target: readonly Target[];
}

/** An event of a page's element. */
export interface PageEvent {
  id: number;
  event: string;
  value?: unknown;
}

/** Values of a page's elements by id, and the events since it opened. */
export type PageState = Record<string, unknown> & { events: readonly PageEvent[] };

/** The next step towards a part of a goal, from the visible screen alone; `reached` if it visibly holds. */
export type Subgoal = (view: ScreenView) => Step | 'reached' | 'unseen';

/** A part of a goal: its wording, its solution, and its check on the page's state. */
export interface Part {
  /** Words the instruction, differently each time. */
  order: () => string;
  subgoals: readonly Subgoal[];
  /** Whether its last action has no visible result, such as a click on a button. */
  endsByClick?: true;
  isDone: (state: PageState) => boolean;
}

/** The input for creating tasks: a page in its initial state. */
export interface Situation {
  page: GeneratedPage;
  view: ScreenView;
  random: Random;
  split: Split;
}

/** Something to do on a page. */
export interface Task {
  kind: string;
  page: GeneratedPage;
  goal: string;
  /** In order: the first that is not reached determines the next step. */
  subgoals: readonly Subgoal[];
  /** Whether an action without a visible result may end it; otherwise it ends with `finish`. */
  endsByClick: boolean;
  /** Whether the page's state fulfills the goal. */
  isDone: (state: PageState) => boolean;
}

/** A kind of task. */
export interface TaskMaker {
  /** Widgets of its pages; repeated entries are more frequent, and the first is always present. */
  widgets: readonly PlacedKind[];
  /** Complete pages that may be used instead. */
  scenes?: readonly SceneKind[];
  /** Whether a page may have the required elements, as far as can be determined before opening it. */
  fits?: (page: GeneratedPage) => boolean;
  /** Parts of a goal in order; undefined if the page does not support it. */
  make: (situation: Situation) => Part[] | undefined;
}
