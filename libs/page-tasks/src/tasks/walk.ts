import type { Action } from '@ui-rl/actions';
import type { Box, LivePage, Screen, ScreenTruth } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { bottom, contains, holds, right } from '../screen/boxes';
import { gridPointsIn, ScreenView } from '../screen/view';
import { nextStep } from './solver';
import type { Step, Task } from './task';

/** One screen of a walk with the correct next action, in the form of a question. */
export interface WalkStep extends Step {
  screen: Screen;
  goal: string;
  /** All actions before this step, strays included. */
  past: readonly Action[];
}

export interface WalkOptions {
  /**
   * Share of actions that miss their target or click something else; the solver then shows how to recover. So the
   * screen, not the earlier actions, decides what comes next.
   */
  stray: number;
  /** Maximum actions per walk. */
  most: number;
}

/** How a walk ended: at its goal, with a `finish` that the page's state contradicts, or after too many actions. */
export type WalkEnd = 'done' | 'mistaken' | 'endless';

/** Solves a task on its page; returns each screen with the correct next action. */
export async function walk(
  task: Task,
  live: LivePage,
  random: Random,
  { stray, most }: WalkOptions,
): Promise<{ steps: WalkStep[]; end: WalkEnd }> {
  const steps: WalkStep[] = [];
  const past: Action[] = [];
  for (let i = 0; i < most; i++) {
    const screen = await live.screen();
    const step = nextStep(task, screen.truth);
    steps.push({ screen, goal: task.goal, past: [...past], ...step });
    if (step.action.action === 'finish')
      return { steps, end: (await isDone(task, live)) ? 'done' : 'mistaken' };
    const isStray = random.chance(stray) && i < most / 2;
    const action = isStray ? strayAction(task, step, screen.truth, random) : step.action;
    await live.perform(action);
    past.push(action);
    if (!isStray && endsBy(task, step) && (await isDone(task, live))) return { steps, end: 'done' };
  }
  return { steps, end: 'endless' };
}

/** Solves a task without screenshots. */
export async function play(task: Task, live: LivePage, most = 24): Promise<WalkEnd> {
  for (let i = 0; i < most; i++) {
    const step = nextStep(task, await live.truth());
    if (step.action.action === 'finish') return (await isDone(task, live)) ? 'done' : 'mistaken';
    await live.perform(step.action);
    if (endsBy(task, step) && (await isDone(task, live))) return 'done';
  }
  return 'endless';
}

async function isDone(task: Task, live: LivePage): Promise<boolean> {
  return task.isDone(await live.state());
}

/**
 * Whether an action may be the last one: one without a visible result, such as a click on a button or a key press.
 */
function endsBy(task: Task, { action }: Step): boolean {
  return task.endsByClick && ['click', 'key'].includes(action.action);
}

/** Kinds whose stray clicks can be undone. */
const HARMLESS = [
  'checkbox',
  'toggle',
  'radio',
  'text field',
  'select',
  'tab',
  'accordion',
  'menu',
  'tree item',
];

/** A click where nothing is, if the effect of the step would be visible; otherwise on another element, or anywhere. */
function strayAction(task: Task, step: Step, truth: ScreenTruth, random: Random): Action {
  const view = new ScreenView(truth);
  const missed = random.chance(0.6) && !endsBy(task, step) ? missedClick(step, view, random) : undefined;
  if (missed !== undefined) return missed;
  const { elements, width, height } = truth;
  const harmless = elements.filter(({ kind, interactive }) => interactive && HARMLESS.includes(kind));
  if (harmless.length === 0) return { action: 'click', x: width - 1, y: height - 1 };
  const [x, y] = view.pointIn(random.pick(harmless));
  return { action: 'click', x, y };
}

/** Pixels beside a target that may belong to it, and those beside it where half of the missed clicks are. */
const EDGE = 8;
const NEAR = 20;

/** The click of a step, but near its target or anywhere, where no other element is; undefined without such a place. */
function missedClick({ action, target }: Step, view: ScreenView, random: Random): Action | undefined {
  const targets = target.map((each) => (typeof each === 'number' ? view.get(each)?.box : each));
  const boxes = targets.filter((box) => box !== undefined);
  if (action.action !== 'click' || boxes.length === 0) return undefined;
  const { width, height, elements } = view.truth;
  const around = boundsOf(boxes);
  const within: Box = random.chance(0.5) ? grown(around, NEAR) : [0, 0, width, height];
  const isFree = ([x, y]: readonly [number, number]) =>
    holds([0, 0, width, height], x, y) &&
    !holds(grown(around, EDGE), x, y) &&
    !elements.some(({ box, interactive }) => holds(box, x, y) && (interactive || !contains(box, around)));
  const [place] = random.shuffled(gridPointsIn(within).filter(isFree));
  return place === undefined ? undefined : { ...action, x: place[0], y: place[1] };
}

function boundsOf(boxes: readonly Box[]): Box {
  const [left, top] = [0, 1].map((side) => Math.min(...boxes.map((box) => box[side])));
  return [left, top, Math.max(...boxes.map(right)) - left, Math.max(...boxes.map(bottom)) - top];
}

function grown([left, top, width, height]: Box, by: number): Box {
  return [left - by, top - by, width + 2 * by, height + 2 * by];
}
