import { shellWord, type Keystroke } from '@ui-rl/plugin-kit';
import { keyCode } from './keycodes';

/** An input method that types what it is sent; github.com/senzhk/ADBKeyBoard */
export const ADB_KEYBOARD = 'com.android.adbkeyboard/.AdbIME';

/** How the words of a text are brought into the device. */
export type Keyboard = 'input' | 'adb_keyboard';

/** What `input text` takes at once; a shell's line is longer. */
const PIECE = 200;

/** Whether every character stands on the keyboard that `input text` imitates. */
export function isPlain(strokes: readonly Keystroke[]): boolean {
  return strokes.every((stroke) => !('text' in stroke) || /^[\x20-\x7e]*$/.test(stroke.text));
}

/** Commands that type where the focus is. */
export function typingCommands(strokes: readonly Keystroke[], keyboard: Keyboard): string[] {
  return strokes.flatMap((stroke) => {
    if (!('text' in stroke)) return [`input keyevent ${keyCode(stroke.key)}`];
    return keyboard === 'input' ? piecesOf(stroke.text).map(inputText) : [broadcast(stroke.text)];
  });
}

/**
 * `input text` reads `%s` as a space, and has no way to write those two characters: they are typed one after the other. What may
 * mean something to the shell is in quotes, so that a text is never more than a text.
 */
function inputText(text: string): string {
  return `input text ${shellWord(text.replaceAll(' ', '%s'))}`;
}

function piecesOf(text: string): string[] {
  return text
    .split(/(?<=%)(?=s)/)
    .flatMap((part) =>
      Array.from({ length: Math.ceil(part.length / PIECE) }, (_, i) =>
        part.slice(i * PIECE, (i + 1) * PIECE),
      ),
    );
}

/** Any text, in base64: nothing of it is read by a shell. */
function broadcast(text: string): string {
  return `am broadcast -a ADB_INPUT_B64 --es msg ${Buffer.from(text).toString('base64')}`;
}
