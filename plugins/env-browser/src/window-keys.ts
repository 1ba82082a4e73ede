import type { Action, WindowAction, WindowChange } from '@ui-rl/plugin-kit';

/** Keys of Chromium, which headless Chromium does not handle and pages never get. */
const CHANGES: Readonly<Record<string, WindowChange>> = {
  'ctrl+tab': 'next',
  'ctrl+page_down': 'next',
  'ctrl+shift+tab': 'previous',
  'ctrl+page_up': 'previous',
  'ctrl+w': 'close',
  'ctrl+f4': 'close',
  'ctrl+t': 'new',
  'ctrl+n': 'new',
};

/**
 * The change of windows that an action asks for, by its name or by the browser's shortcuts; null for others.
 *
 * @param count of open windows: with one, pages get the digits
 */
export function windowChange(action: Action, count: number): WindowAction | null {
  if (action.action === 'window') return action;
  if (action.action !== 'key' || action.seconds !== undefined) return null;
  const chord = action.keys.join('+').toLowerCase();
  if (Object.hasOwn(CHANGES, chord)) return { action: 'window', change: CHANGES[chord] };
  const digit = count > 1 ? /^ctrl\+([1-9])$/.exec(chord)?.[1] : undefined;
  if (digit === undefined) return null;
  return { action: 'window', number: digit === '9' ? count : Number(digit) };
}
