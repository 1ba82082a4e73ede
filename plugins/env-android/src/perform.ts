import { setTimeout as sleep } from 'node:timers/promises';
import { keystrokesOf, refinementsOf, type Action, type Deadline, type Point } from '@ui-rl/plugin-kit';
import type { Device } from './device';
import { isInside, pointsOf, scrollStrokes, swipeStroke, type Screen, type Stroke } from './gestures';
import { buttonCode, keyCode } from './keycodes';
import { isPlain, typingCommands } from './typing';

const LONG_PRESS_SECONDS = 0.8;
const DRAG_MS = 800;
/** Time kept from the deadline for the screenshot after an action. */
const RESERVE_MS = 3_000;

/**
 * Performs an action on a device. Returns `ok`, or the problem; an invalid action has no effect, one that runs out of
 * time is partly performed. Throws `DeviceError` if the device is gone.
 */
export async function perform(
  device: Device,
  action: Action,
  screen: Screen,
  deadline: Deadline,
): Promise<string> {
  if (refinementsOf(action).length > 0) return 'unsupported_action';
  if (!pointsOf(action).every((point) => isInside(point, screen))) return 'outside_viewport';
  switch (action.action) {
    case 'wait':
      return pause(action.seconds, deadline);
    case 'finish':
      return 'ok';
    case 'long_press':
      return longPress(device, action, deadline);
    case 'type':
      return type(device, action.text, deadline);
    case 'key':
      return key(device, action.keys, deadline);
    default: {
      const commands = commandsOf(action, screen);
      return commands === null ? 'unsupported_action' : runAll(device, commands, deadline);
    }
  }
}

type PlainAction = Exclude<Action, { action: 'wait' | 'finish' | 'long_press' | 'type' | 'key' }>;

/** Arguments of `input`; null for actions that a finger cannot perform. */
export function commandsOf(action: PlainAction, screen: Screen): string[] | null {
  switch (action.action) {
    case 'click':
      return [tap([action.x, action.y])];
    case 'double_click':
      return [repeated(tap([action.x, action.y]), 2)];
    case 'triple_click':
      return [repeated(tap([action.x, action.y]), 3)];
    case 'scroll':
      return scrollStrokes(action, screen).map(swipe);
    case 'swipe':
      return [swipe(swipeStroke(action, screen))];
    case 'drag':
      return [`input draganddrop ${[...action.from, ...action.to].map(pixel).join(' ')} ${DRAG_MS}`];
    case 'button':
      return [`input keyevent ${buttonCode(action.button)}`];
    case 'right_click':
    case 'middle_click':
    case 'move':
    case 'mouse_down':
    case 'mouse_up':
    case 'key_down':
    case 'key_up':
    case 'window':
    case 'zoom':
      return null;
  }
}

/** In one shell line, since taps in separate commands would be too far apart. */
function repeated(command: string, times: number): string {
  return Array.from({ length: times }, () => command).join(' && ');
}

function tap([x, y]: Point): string {
  return `input tap ${pixel(x)} ${pixel(y)}`;
}

function swipe({ from, to, ms }: Stroke): string {
  return `input swipe ${[...from, ...to].map(pixel).join(' ')} ${ms}`;
}

function pixel(value: number): number {
  return Math.round(value);
}

async function longPress(
  device: Device,
  { x, y, seconds = LONG_PRESS_SECONDS }: Extract<Action, { action: 'long_press' }>,
  deadline: Deadline,
): Promise<string> {
  const ms = allowed(seconds, deadline);
  await device.mustRun(swipe({ from: [x, y], to: [x, y], ms }), deadline.signal);
  return ms < seconds * 1000 ? 'wait_cut_short' : 'ok';
}

async function pause(seconds: number, deadline: Deadline): Promise<string> {
  const ms = allowed(seconds, deadline);
  await sleep(ms);
  return ms < seconds * 1000 ? 'wait_cut_short' : 'ok';
}

/** Limits a requested duration to the deadline: an overlong wait is not an infrastructure failure. */
function allowed(seconds: number, { deadlineAt }: Deadline): number {
  return Math.round(Math.max(0, Math.min(seconds * 1000, deadlineAt - Date.now() - RESERVE_MS)));
}

async function type(device: Device, text: string, deadline: Deadline): Promise<string> {
  const { strokes, untypable } = keystrokesOf(text);
  const keyboard = isPlain(strokes) ? 'input' : 'adb_keyboard';
  if (keyboard === 'adb_keyboard' && !(await device.useAdbKeyboard(deadline.signal))) return 'untypable_text';
  const outcome = await runAll(device, typingCommands(strokes, keyboard), deadline);
  return outcome === 'ok' && untypable > 0 ? 'unsupported_character' : outcome;
}

async function key(device: Device, keys: readonly string[], deadline: Deadline): Promise<string> {
  const [only] = keys;
  const codes = keys.map(keyCode);
  if (keys.length === 1 && only.length === 1) return type(device, only, deadline);
  if (codes.includes(undefined)) return 'unsupported_action';
  if (codes.length === 1) return runAll(device, [`input keyevent ${codes[0]}`], deadline);
  // Android versions before 12 do not support key combinations.
  const { exitCode, stdout } = await device.shell(`input keycombination ${codes.join(' ')}`, deadline.signal);
  return exitCode === 0 && !/unknown command|^usage/im.test(stdout) ? 'ok' : 'unsupported_action';
}

/** Runs as many as time allows, at least the first: an overlong request is not an infrastructure failure. */
async function runAll(
  device: Device,
  commands: readonly string[],
  { signal, deadlineAt }: Deadline,
): Promise<string> {
  for (const [index, command] of commands.entries()) {
    if (index > 0 && Date.now() > deadlineAt - RESERVE_MS) return 'cut_short';
    await device.mustRun(command, signal);
  }
  return 'ok';
}
