import type { Action } from '@ui-rl/actions';
import { FIRST_HELD_OUT_SEED, type Box, type ScreenTruth } from '@ui-rl/page-generator';
import type { Target } from './questions/question';
import { holds } from './screen/boxes';

export { FIRST_HELD_OUT_SEED };

/** Whether the page of a seed is for evaluation alone. */
export function isHeldOutSeed(seed: number): boolean {
  return seed >= FIRST_HELD_OUT_SEED;
}

/** @throws RangeError where training is given a page that is kept for evaluation */
export function assertTrainingSeed(seed: number): void {
  if (!isHeldOutSeed(seed)) return;
  throw new RangeError(`the page of seed ${seed} is held out: train on seeds below ${FIRST_HELD_OUT_SEED}`);
}

/** What is right to answer, of a question or of a step of a task. */
export interface Expected {
  action: Action;
  target: readonly Target[];
}

/** Whether an action points inside an element that the question names: the score of pointing. */
export function pointsInside(
  action: Action,
  { target }: Pick<Expected, 'target'>,
  truth: ScreenTruth,
): boolean {
  if (!('x' in action) || action.x === undefined || action.y === undefined) return false;
  return isInside(action.x, action.y, target, truth);
}

/** Whether an action does what was asked: the score of one-action instructions. Its place may be any inside the target. */
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

/** A drag begins inside the target and ends near where the right one does. */
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

/** Share of right answers. */
export function accuracy(right: readonly boolean[]): number {
  return right.length === 0 ? 0 : right.filter(Boolean).length / right.length;
}
