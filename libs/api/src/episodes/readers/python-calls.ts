import { dialectFactories, readAction, type Action, type ScrollAction } from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import type { Reading } from '../demonstration';
import { failureOf } from './answers';

/** Coordinates are shares of the screen. */
const pyautogui = dialectFactories.pyautogui.create('relative_1');

const CALL = /^(?:(computer|mobile|browser)\.)?(\w+)\((.*)\)$/s;
const ARGUMENT = /(\w+)\s*=\s*(\[[^\]]*\]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[-\d.eE]+)/gs;
const POSITIONAL_TEXT = /^\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*$/s;
const MAX_CODE = 20_000;

/**
 * Actions in the Python of AgentNet and Aguvis: `pyautogui` with shares of the screen, and functions of `computer`,
 * `mobile` and `browser`. The code is read and never run. Source: github.com/xlang-ai/OpenCUA,
 * data/data-process/src/schema/action.py; github.com/xlang-ai/aguvis, src/aguvis/constants.py.
 */
export function readPython(code: string, size: ImageSize): Reading {
  const text = code.trim();
  if (text.length > MAX_CODE) return { ok: false, reason: 'code of more than 20,000 characters' };
  const called = /^(?:pyautogui|time|import)\b/.test(text) ? null : CALL.exec(text);
  if (called !== null) return readFunction(called[1], called[2], called[3], size);
  const parsed = pyautogui.parse(text, { screenshot: size, modelImage: size });
  return parsed.ok ? { ok: true, actions: withPlaces(parsed.actions) } : failureOf(parsed);
}

/** `moveTo` before `scroll` says where to scroll. */
function withPlaces(actions: readonly Action[]): Action[] {
  return actions.flatMap((action, index): Action[] => {
    const [before, next] = [actions[index - 1], actions[index + 1]];
    if (action.action === 'move' && isScrollInPlace(next)) return [];
    if (before?.action !== 'move' || !isScrollInPlace(action)) return [action];
    return [{ ...action, x: before.x, y: before.y }];
  });
}

function isScrollInPlace(action: Action | undefined): action is ScrollAction {
  return action?.action === 'scroll' && action.x === undefined;
}

function readFunction(owner: string | undefined, name: string, written: string, size: ImageSize): Reading {
  const plain = plainAction(name, argumentsOf(written), size);
  if (plain === undefined) return { ok: false, reason: owner === undefined ? name : `${owner}.${name}` };
  const read = readAction(plain);
  return read.ok ? { ok: true, actions: [read.action] } : failureOf(read);
}

function plainAction(
  name: string,
  given: Readonly<Record<string, unknown>>,
  size: ImageSize,
): object | undefined {
  const { x, y, seconds = 1, status = 'success' } = given;
  const at = { x: pixel(x, size.width), y: pixel(y, size.height) };
  switch (name) {
    case 'tripleClick':
    case 'triple_click':
      return { action: 'triple_click', ...at };
    case 'long_press':
      return { action: 'long_press', ...at };
    case 'swipe':
      return { action: 'swipe', from: point(given.from_coord, size), to: point(given.to_coord, size) };
    case 'home':
    case 'back':
      return { action: 'button', button: name };
    case 'wait':
      return { action: 'wait', seconds };
    case 'terminate':
      return { action: 'finish', success: status === 'success' };
    case 'answer':
      return { action: 'finish', success: true, message: given.answer ?? given[''] };
    default:
      return undefined;
  }
}

function argumentsOf(written: string): Record<string, unknown> {
  const positional = POSITIONAL_TEXT.exec(written)?.[1];
  if (positional !== undefined) return { '': unquoted(positional) };
  return Object.fromEntries([...written.matchAll(ARGUMENT)].map(([, name, value]) => [name, valueOf(value)]));
}

function valueOf(value: string): unknown {
  if (/^['"]/.test(value)) return unquoted(value);
  if (!value.startsWith('[')) return Number(value);
  return value.slice(1, -1).split(',').map(Number);
}

function unquoted(value: string): string {
  return value.slice(1, -1).replaceAll(/\\(.)/gs, (_, sign: string) => ({ n: '\n', t: '\t' })[sign] ?? sign);
}

function point(value: unknown, { width, height }: ImageSize): unknown {
  return Array.isArray(value) ? [pixel(value[0], width), pixel(value[1], height)] : value;
}

/** The pixel at a share of the screen; other values as they are, for the message of the vocabulary. */
function pixel(share: unknown, pixels: number): unknown {
  if (typeof share !== 'number' || !(share >= 0 && share <= 1)) return share;
  return Math.min(Math.floor(share * pixels), pixels - 1);
}
