import { keystrokesOf, type Deadline } from '@ui-rl/plugin-kit';
import type { BrowserTab } from './browser-tab';
import { isOnKeyboard } from './keys';

/** Characters of a longer text are inserted at once, as if pasted: a keystroke takes 1 to 4 ms. */
const MAX_KEYSTROKES = 256;
const KEYS = { enter: 'Enter', tab: 'Tab' };

/**
 * Types a text into the focused element. Stops when only the time for the screenshot is left, which the outcome
 * reports.
 */
export async function type(
  tab: BrowserTab,
  text: string,
  { deadlineAt }: Deadline,
  reserveMs: number,
): Promise<void> {
  const { keyboard } = tab.page;
  const { strokes, untypable } = keystrokesOf(text);
  if (untypable > 0) tab.note('unsupported_character');
  const isLong = text.length > MAX_KEYSTROKES;
  for (const stroke of strokes) {
    const parts =
      !('text' in stroke) || isLong ? [stroke] : Array.from(stroke.text, (each) => ({ text: each }));
    for (const part of parts) {
      if (Date.now() > deadlineAt - reserveMs) return tab.note('cut_short');
      if (!('text' in part)) await keyboard.press(KEYS[part.key]);
      else if (isLong) await keyboard.insertText(part.text);
      else await typeCharacter(tab, part.text);
    }
  }
}

/**
 * Presses the key of a character. For characters that Playwright's keyboard layout lacks, the page gets key events
 * with the character as name.
 */
export async function typeCharacter({ page, cdp }: BrowserTab, character: string): Promise<void> {
  if (isOnKeyboard(character)) {
    await page.keyboard.type(character);
    return;
  }
  const key = { key: character, text: character, unmodifiedText: character };
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyDown', ...key });
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', key: character });
}
