import type { ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import type { Random } from '@ui-rl/random';
import { ScreenView } from '../screen/view';
import { clickStep } from './subgoals';
import type { Step, Task } from './task';

const FINISH: Step = { action: { action: 'finish', success: true }, target: [] };
/** Pixels of one notch of a mouse wheel. */
const NOTCH = 100;

/**
 * The right next step of a task on a screen, from its goal and what is visible: the first part that is not reached, after closing
 * what covers it or scrolling until it is there. `finish` where all of it is visibly reached.
 */
export function nextStep(task: Task, truth: ScreenTruth, random: Random): Step {
  const view = new ScreenView(truth);
  for (const subgoal of task.subgoals) {
    const step = subgoal(view, random);
    if (step === 'unseen') return uncover(view, random) ?? scrollOn(view, random);
    if (step !== 'reached') return step;
  }
  return FINISH;
}

/** Closes the dialog that lies over what is looked for. */
function uncover(view: ScreenView, random: Random): Step | undefined {
  const close = view.elements.find(({ kind }) => kind === 'close button');
  return close === undefined ? undefined : clickStep(close, view, random);
}

/** Scrolls down what can be scrolled: the largest part of the page that scrolls by itself, else the page. */
function scrollOn(view: ScreenView, random: Random): Step {
  const container = largest(view.elements.filter(({ kind }) => kind === 'scroll container'));
  if (container === undefined) {
    return { action: { action: 'scroll', direction: 'down', amount: notches(view.truth.height / 2) }, target: [] };
  }
  const [x, y] = view.pointIn(container, random);
  const amount = notches(container.box[3]);
  return { action: { action: 'scroll', direction: 'down', amount, x, y }, target: [container.id] };
}

const notches = (pixels: number): number => Math.max(1, Math.floor(pixels / NOTCH));

function largest(elements: readonly TruthElement[]): TruthElement | undefined {
  const area = ({ box }: TruthElement) => box[2] * box[3];
  return elements.toSorted((a, b) => area(b) - area(a))[0];
}
