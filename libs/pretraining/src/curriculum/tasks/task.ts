import type { Action } from '@ui-rl/actions';
import type { GeneratedPage, PlacedKind, SceneKind } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import type { ScreenView } from '../screen/view';
import type { Target } from '../questions/question';
import type { Split } from '../wording/phrases';

/** One action on the way to a goal. */
export interface Step {
  action: Action;
  /** What it aims at; of a drag, where it begins and where it ends. Empty where the action has no place. */
  target: readonly Target[];
}

/** Something that happened to an element of a page. */
export interface PageEvent {
  id: number;
  event: string;
  value?: unknown;
}

/** Values of a page's elements by their ids, and what happened since it opened. */
export type PageState = Record<string, unknown> & { events: readonly PageEvent[] };

/** What the next step towards a part of a goal is, from what is visible alone; `reached` where it is visibly so. */
export type Subgoal = (view: ScreenView, random: Random) => Step | 'reached' | 'unseen';

/** A part of a goal: how it is said, how it is reached, and how the page's state tells that it is. */
export interface Part {
  /** Says it anew each time, in other words: an order. */
  order: () => string;
  subgoals: readonly Subgoal[];
  /** Whether its last action leaves nothing to see, as a click on a button. */
  endsByClick?: true;
  isDone: (state: PageState) => boolean;
}

/** What tasks are stated from: a page as it looks at first. */
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
  /** In order: the first that is not reached decides the next step. */
  subgoals: readonly Subgoal[];
  /** Whether an action may end it that leaves nothing to see; else it ends with `finish`. */
  endsByClick: boolean;
  /** Whether the goal is reached, from the page's state. */
  isDone: (state: PageState) => boolean;
}

/** A kind of tasks. */
export interface TaskMaker {
  /** Widgets of its pages, the more often the more often they are named; the first one is always there. */
  widgets: readonly PlacedKind[];
  /** Whole pages, one of which it is set on instead. */
  scenes?: readonly SceneKind[];
  /** Whether a page may have what a task is about, as far as that can be told before it is opened. */
  fits?: (page: GeneratedPage) => boolean;
  /** Parts of a goal in order; undefined where the page has nothing for it. */
  make: (situation: Situation) => Part[] | undefined;
}
