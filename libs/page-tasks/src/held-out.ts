import type { Action } from '@ui-rl/actions';
import type { Box, ScreenTruth } from '@ui-rl/page-generator';
import type { Target } from './questions/question';
import { holds } from './screen/boxes';

/** The correct answer to a question or to a step of a task. */
export interface Expected {
  action: Action;
  target: readonly Target[];
}

/** Whether an action points inside an element that the question names: the pointing score. */
export function pointsInside(
  action: Action,
  { target }: Pick<Expected, 'target'>,
  truth: ScreenTruth,
): boolean {
  if (!('x' in action) || action.x === undefined || action.y === undefined) return false;
  return isInside(action.x, action.y, target, truth);
}

/** Whether an action is correct: the score of one-action instructions. It may point anywhere inside the target. */
export function isRight(answered: Action, expected: Expected, truth: ScreenTruth): boolean {
  const { action } = expected;
  if (answered.action !== action.action) return false;
  if (action.action === 'drag') return dragsAlike(answered, action, expected.target, truth);
  const { x: _x, y: _y, ...rest } = action as Action & { x?: number; y?: number };
  const same = Object.entries(rest).every(
    ([key, value]) =>
      JSON.stringify((answered as unknown as Record<string, unknown>)[key]) === JSON.stringify(value),
  );
  return same && (expected.target.length === 0 || pointsInside(answered, expected, truth));
}

const DRAG_TOLERANCE = 6;

/** Whether a drag starts inside the target and ends near the expected end. */
function dragsAlike(answered: Action, right: Action, target: readonly Target[], truth: ScreenTruth): boolean {
  if (answered.action !== 'drag' || right.action !== 'drag') return false;
  const first: Target | undefined = target[0];
  const last: Target | undefined = target[1];
  const begins = first === undefined || isInside(answered.from[0], answered.from[1], [first], truth);
  const ends =
    last === undefined
      ? Math.hypot(answered.to[0] - right.to[0], answered.to[1] - right.to[1]) <= DRAG_TOLERANCE
      : isInside(answered.to[0], answered.to[1], [last], truth);
  return begins && ends;
}

function isInside(x: number, y: number, target: readonly Target[], { elements }: ScreenTruth): boolean {
  return target.some((each) => {
    const box: Box | undefined =
      typeof each === 'number' ? elements.find(({ id }) => id === each)?.box : each;
    return box !== undefined && holds(box, x, y);
  });
}

/** Share of correct answers. */
export function accuracy(right: readonly boolean[]): number {
  return right.length === 0 ? 0 : right.filter(Boolean).length / right.length;
}
