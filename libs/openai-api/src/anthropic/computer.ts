import { dialectFactories, type Action } from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import { invalid } from '../errors';
import { isObject, type Fields } from '../fields';

/** One tool with the action in its input, or a set of tools with one for each action. */
export type ComputerForm = 'tool' | 'toolset';

/** Anthropic's types of computer tools. */
export const COMPUTERS: ReadonlyMap<string, ComputerForm> = new Map([
  ['computer_20241022', 'tool'],
  ['computer_20250124', 'tool'],
  ['computer_20251124', 'tool'],
  ['computer_toolset_20260801', 'toolset'],
]);

/** A call of the computer tool, without its id. */
export interface ComputerCall {
  name: string;
  input: object;
  toolset_name?: string;
}

const COMPUTER = 'computer';
const SCREENSHOT = 'screenshot';
const format = dialectFactories.anthropic_computer.create('screenshot');
const sizesOf = (screenshot: ImageSize) => ({ screenshot, modelImage: screenshot });

/** Converts actions to calls; undefined if one of them ends the task, or has no equivalent in the tool. */
export function toAnthropic(
  actions: readonly Action[],
  screen: ImageSize,
  form: ComputerForm,
): ComputerCall[] | undefined {
  const calls: ComputerCall[] = [];
  for (const action of actions) {
    const call = action.action === 'finish' ? undefined : writtenAlone(action, screen);
    if (call === undefined) return undefined;
    calls.push(callIn(form, call.name, call.input));
  }
  return calls;
}

/** A call that shows the screen and does nothing else. */
export function screenshotCall(form: ComputerForm): ComputerCall {
  return callIn(form, SCREENSHOT, {});
}

export function isComputerCall(block: Fields, form: ComputerForm | undefined): boolean {
  if (form === undefined) return false;
  return form === 'tool' ? block.text('name') === COMPUTER : block.text('toolset_name') === COMPUTER;
}

/** Converts a call to actions. @throws ApiError that says what is unreadable */
export function fromAnthropic(block: Fields, screen: ImageSize): Action[] {
  const call = Object.fromEntries(['name', 'toolset_name', 'input'].map((name) => [name, block.raw(name)]));
  const parsed = format.parse(JSON.stringify({ type: 'tool_use', ...call }), sizesOf(screen));
  if (parsed.ok) return parsed.actions;
  throw invalid(block.at('input'), parsed.correction);
}

export function isScreenshotCall(block: Fields): boolean {
  const input = block.raw('input');
  return block.text('name') === SCREENSHOT || (isObject(input) && input.action === SCREENSHOT);
}

function writtenAlone(action: Action, screen: ImageSize): { name: string; input: object } | undefined {
  try {
    return JSON.parse(format.format([action], sizesOf(screen))) as { name: string; input: object };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function callIn(form: ComputerForm, name: string, input: object): ComputerCall {
  return form === 'toolset'
    ? { name, input, toolset_name: COMPUTER }
    : { name: COMPUTER, input: { action: name, ...input } };
}
