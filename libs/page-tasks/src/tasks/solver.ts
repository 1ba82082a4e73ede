import type { ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import { ScreenView } from '../screen/view';
import { clickStep } from './subgoals';
import type { Step, Task } from './task';

const FINISH: Step = { action: { action: 'finish', success: true }, target: [] };
/** Pixels of one mouse-wheel notch. */
const NOTCH = 100;

/**
 * The correct next step of a task, from its goal and the visible screen: that of the first part that is not reached.
 * A part that is not visible yields to later parts, except the final click; if none is left, the solver closes what
 * covers it, or scrolls. `finish` if all parts are visibly reached.
 */
export function nextStep({ subgoals, endsByClick }: Task, truth: ScreenTruth): Step {
  const view = new ScreenView(truth);
  let isOneUnseen = false;
  for (const [i, subgoal] of subgoals.entries()) {
    if (isOneUnseen && endsByClick && i === subgoals.length - 1) break;
    const step = subgoal(view);
    if (step === 'unseen') isOneUnseen = true;
    else if (step !== 'reached') return step;
  }
  return isOneUnseen ? (uncover(view) ?? scrollOn(view)) : FINISH;
}

/** Closes the dialog that covers the target. */
function uncover(view: ScreenView): Step | undefined {
  const close = view.elements.find(({ kind }) => kind === 'close button');
  return close === undefined ? undefined : clickStep(close, view);
}

/** Scrolls down the largest scroll container, otherwise the page. */
function scrollOn(view: ScreenView): Step {
  const container = largest(view.elements.filter(({ kind }) => kind === 'scroll container'));
  if (container === undefined) {
    return {
      action: { action: 'scroll', direction: 'down', amount: notches(view.truth.height / 2) },
      target: [],
    };
  }
  const [x, y] = view.pointIn(container);
  const amount = notches(container.box[3]);
  return { action: { action: 'scroll', direction: 'down', amount, x, y }, target: [container.id] };
}

const notches = (pixels: number): number => Math.max(1, Math.floor(pixels / NOTCH));

function largest(elements: readonly TruthElement[]): TruthElement | undefined {
  const area = ({ box }: TruthElement) => box[2] * box[3];
  return elements.toSorted((a, b) => area(b) - area(a))[0];
}
