import type { Action } from '@ui-rl/actions';
import type { LivePage, Screen, ScreenTruth } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { ScreenView } from '../screen/view';
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
  /** Share of actions that are random clicks instead of steps; the solver then shows how to recover. */
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
    const action = isStray ? strayAction(screen.truth, random) : step.action;
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

/** A click on a random element, or anywhere. */
function strayAction(truth: ScreenTruth, random: Random): Action {
  const { elements, width, height } = truth;
  const harmless = elements.filter(({ kind, interactive }) => interactive && HARMLESS.includes(kind));
  if (harmless.length === 0) return { action: 'click', x: width - 1, y: height - 1 };
  const [x, y] = new ScreenView(truth).pointIn(random.pick(harmless));
  return { action: 'click', x, y };
}
