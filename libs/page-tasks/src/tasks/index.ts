import { generatePage, type GeneratedPage, type ScreenTruth, type Viewport } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { ScreenView } from '../screen/view';
import { decorate } from '../wording/decorate';
import { inOrder } from '../wording/goals';
import type { Split } from '../wording/phrases';
import { CHOICE_TASKS } from './kinds/choices';
import { FIELD_TASKS } from './kinds/fields';
import { MIXED_TASKS } from './kinds/mixed';
import { PLACE_TASKS } from './kinds/places';
import { SCENE_TASKS } from './kinds/scenes';
import { VALUE_TASKS } from './kinds/values';
import type { Task, TaskMaker } from './task';

export { Attempt, type Standing } from './attempt';
export { nextStep } from './solver';
export { play, walk, type WalkEnd, type WalkOptions, type WalkStep } from './walk';
export type { PageEvent, PageState, Step, Task } from './task';

export const TASKS = {
  ...CHOICE_TASKS,
  ...MIXED_TASKS,
  ...FIELD_TASKS,
  ...VALUE_TASKS,
  ...PLACE_TASKS,
  ...SCENE_TASKS,
} satisfies Record<string, TaskMaker>;
export type TaskKind = keyof typeof TASKS;
export const TASK_KINDS = Object.keys(TASKS) as TaskKind[];

/** The page of a seed for a kind of task, of various sizes by default; undefined if it lacks required elements. */
export function pageFor(kind: TaskKind, seed: number, viewport?: Viewport): GeneratedPage | undefined {
  const maker: TaskMaker = TASKS[kind];
  const size = viewport === undefined ? {} : { viewport };
  if (maker.scenes !== undefined) {
    return generatePage(seed, { ...size, scene: maker.scenes[seed % maker.scenes.length] });
  }
  const page = generatePage(seed, { ...size, kinds: maker.widgets, isRoomy: true });
  const isThere = page.parts.some((part) => part.kind === maker.widgets[0]);
  return isThere && maker.fits?.(page) !== false ? page : undefined;
}

/**
 * Creates a task of a kind on a page.
 *
 * @param truth initial state of the page
 * @returns undefined if the page does not support a task of this kind
 */
export function makeTask(
  kind: TaskKind,
  page: GeneratedPage,
  truth: ScreenTruth,
  random: Random,
  split: Split,
): Task | undefined {
  const maker: TaskMaker = TASKS[kind];
  const parts = maker.make({ page, view: new ScreenView(truth), random, split });
  if (parts === undefined) return undefined;
  const orders = () => parts.map(({ order }) => order());
  return {
    kind,
    page,
    goal: decorate(() => inOrder(orders(), random, split), random, split),
    subgoals: parts.flatMap(({ subgoals }) => subgoals),
    endsByClick: parts[parts.length - 1].endsByClick === true,
    isDone: (state) => parts.every(({ isDone }) => isDone(state)),
  };
}
