import { shellWord, type Keystroke } from '@ui-rl/plugin-kit';
import { keyCode } from './keycodes';

/** An input method that types text from broadcasts; github.com/senzhk/ADBKeyBoard */
export const ADB_KEYBOARD = 'com.android.adbkeyboard/.AdbIME';

/** How text is entered on the device. */
export type Keyboard = 'input' | 'adb_keyboard';

/** Maximum characters per `input text`; a shell line may be longer. */
const PIECE = 200;

/** Whether `input text` can type every character. */
export function isPlain(strokes: readonly Keystroke[]): boolean {
  return strokes.every((stroke) => !('text' in stroke) || /^[\x20-\x7e]*$/.test(stroke.text));
}

/** Commands that type into the focused field. */
export function typingCommands(strokes: readonly Keystroke[], keyboard: Keyboard): string[] {
  return strokes.flatMap((stroke) => {
    if (!('text' in stroke)) return [`input keyevent ${keyCode(stroke.key)}`];
    return keyboard === 'input' ? piecesOf(stroke.text).map(inputText) : [broadcast(stroke.text)];
  });
}

/**
 * `input text` reads `%s` as a space and cannot escape those two characters, so they are typed separately. Shell
 * metacharacters are quoted, so that text is never interpreted.
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

/** Sends text in base64, which the shell does not interpret. */
function broadcast(text: string): string {
  return `am broadcast -a ADB_INPUT_B64 --es msg ${Buffer.from(text).toString('base64')}`;
}
