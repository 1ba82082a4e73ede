import { setTimeout as sleep } from 'node:timers/promises';
import {
  modifiersOf,
  pathOf,
  type Action,
  type Deadline,
  type Direction,
  type KeyAction,
  type Point,
  type SwipeAction,
} from '@ui-rl/plugin-kit';
import type { ScreenSize } from './desktop-spec';
import type { Keyboard } from './keyboard';
import { MOUSE, type Pointer } from './pointer';

/** The input devices that perform actions. */
export interface Hands {
  screen: ScreenSize;
  pointer: Pointer;
  keyboard: Keyboard;
}

const LONG_PRESS_SECONDS = 0.8;
/** Time kept from the deadline for settling and the screenshot after a wait. */
const RESERVE_MS = 2_000;
const TOWARDS: Record<Direction, Point> = { up: [0, -1], down: [0, 1], left: [-1, 0], right: [1, 0] };

/**
 * Performs an action by mouse and keyboard. Returns the problem, or nothing; an action with a point outside of the
 * screen has no effect.
 */
export async function perform(hands: Hands, action: Action, deadline: Deadline): Promise<string | null> {
  const { keyboard, screen } = hands;
  if (pointsOf(action, screen).some((point) => !isInside(point, screen))) return 'outside_viewport';
  const modifiers = modifiersOf(action);
  if (modifiers.length === 0) return act(hands, action, deadline);
  let problem: string | null = null;
  const isHeld = await keyboard.during(modifiers, async () => {
    problem = await act(hands, action, deadline);
  });
  return isHeld ? problem : 'unsupported_action';
}

async function act(hands: Hands, action: Action, deadline: Deadline): Promise<string | null> {
  const { pointer, keyboard, screen } = hands;
  switch (action.action) {
    case 'click':
      await pointer.click([action.x, action.y], MOUSE.left, 1);
      return null;
    case 'double_click':
      await pointer.click([action.x, action.y], MOUSE.left, 2);
      return null;
    case 'triple_click':
      await pointer.click([action.x, action.y], MOUSE.left, 3);
      return null;
    case 'right_click':
      await pointer.click([action.x, action.y], MOUSE.right, 1);
      return null;
    case 'middle_click':
      await pointer.click([action.x, action.y], MOUSE.middle, 1);
      return null;
    case 'move':
      await pointer.move([action.x, action.y]);
      return null;
    case 'long_press':
      return cut(action.seconds ?? LONG_PRESS_SECONDS, deadline, (ms) =>
        pointer.hold([action.x, action.y], ms),
      );
    case 'type':
      return type(keyboard, action.text, deadline);
    case 'key':
      return key(keyboard, action, deadline);
    case 'key_down':
      return (await keyboard.press(action.key)) ? null : 'unsupported_action';
    case 'key_up':
      return (await keyboard.release(action.key)) ? null : 'nothing_held';
    case 'mouse_down':
      await pointer.press(givenPlace(action));
      return null;
    case 'mouse_up':
      return (await pointer.release(givenPlace(action))) ? null : 'nothing_held';
    case 'scroll':
      await pointer.scroll(placeOf(action, screen), action.direction, action.amount);
      return null;
    case 'drag':
      await pointer.drag(pathOf(action));
      return null;
    case 'swipe':
      await pointer.drag(endsOf(action, screen));
      return null;
    case 'button':
    case 'window':
      return 'unsupported_action';
    // A matter of the observation.
    case 'zoom':
      return null;
    case 'wait':
      return cut(action.seconds, deadline, (ms) => sleep(ms));
    case 'finish':
      return null;
  }
}

async function key(
  keyboard: Keyboard,
  { keys, seconds }: KeyAction,
  deadline: Deadline,
): Promise<string | null> {
  let isDone = false;
  const press = async (ms: number) => {
    isDone = seconds === undefined ? await keyboard.chord(keys) : await keyboard.hold(keys, ms);
  };
  const problem = await cut(seconds ?? 0, deadline, press);
  return isDone ? problem : 'unsupported_action';
}

async function type(keyboard: Keyboard, text: string, { deadlineAt }: Deadline): Promise<string | null> {
  const isLate = () => Date.now() > deadlineAt - RESERVE_MS;
  const untypable = await keyboard.type(text, isLate);
  if (isLate()) return 'cut_short';
  return untypable > 0 ? 'unsupported_character' : null;
}

/** Limits a requested duration to the deadline: an overlong wait is not an infrastructure failure. */
async function cut(
  seconds: number,
  { deadlineAt }: Deadline,
  work: (milliseconds: number) => Promise<unknown>,
): Promise<string | null> {
  const milliseconds = Math.max(0, Math.min(seconds * 1000, deadlineAt - Date.now() - RESERVE_MS));
  await work(milliseconds);
  return milliseconds < seconds * 1000 ? 'wait_cut_short' : null;
}

/** Points given by the agent; the computed end of a directional swipe may be outside the screen. */
function pointsOf(action: Action, screen: ScreenSize): Point[] {
  if (action.action === 'swipe' && 'direction' in action) return [placeOf(action, screen)];
  if ('from' in action) return 'via' in action ? pathOf(action) : [action.from, action.to];
  return 'x' in action && action.x !== undefined && action.y !== undefined ? [[action.x, action.y]] : [];
}

function givenPlace({ x, y }: { x?: number; y?: number }): Point | null {
  return x === undefined || y === undefined ? null : [x, y];
}

function isInside([x, y]: Point, { width, height }: ScreenSize): boolean {
  return x >= 0 && y >= 0 && x < width && y < height;
}

function placeOf({ x, y }: { x?: number; y?: number }, { width, height }: ScreenSize): Point {
  return x === undefined || y === undefined ? [Math.floor(width / 2), Math.floor(height / 2)] : [x, y];
}

/** A directional swipe covers half of the screen unless it gives a distance, and ends at the edge. */
function endsOf(swipe: SwipeAction, screen: ScreenSize): [Point, Point] {
  if ('from' in swipe) return [swipe.from, swipe.to];
  const [fromX, fromY] = placeOf(swipe, screen);
  const [towardsX, towardsY] = TOWARDS[swipe.direction];
  const distance = swipe.distance ?? Math.floor((towardsX === 0 ? screen.height : screen.width) / 2);
  const clamp = (value: number, size: number) => Math.min(Math.max(value, 0), size - 1);
  return [
    [fromX, fromY],
    [clamp(fromX + towardsX * distance, screen.width), clamp(fromY + towardsY * distance, screen.height)],
  ];
}
