import { MODIFIERS, type Modifier } from './action';
import { canonicalKey, isModifier, MAX_KEYS } from './schema';

/** Key names of X (`xdotool`), Android and `pyautogui`, in lower case and without `_`. */
const FURTHER_NAMES: Readonly<Record<string, string>> = {
  add: '+',
  altl: 'alt',
  altleft: 'alt',
  altr: 'alt',
  altright: 'alt',
  ampersand: '&',
  apostrophe: "'",
  asciicircum: '^',
  asciitilde: '~',
  asterisk: '*',
  at: '@',
  backslash: '\\',
  bar: '|',
  braceleft: '{',
  braceright: '}',
  bracketleft: '[',
  bracketright: ']',
  colon: ':',
  comma: ',',
  controll: 'ctrl',
  controlr: 'ctrl',
  ctrll: 'ctrl',
  ctrlleft: 'ctrl',
  ctrlr: 'ctrl',
  ctrlright: 'ctrl',
  decimal: '.',
  divide: '/',
  dollar: '$',
  downarrow: 'down',
  equal: '=',
  exclam: '!',
  forwarddel: 'delete',
  grave: '`',
  greater: '>',
  leftarrow: 'left',
  less: '<',
  metal: 'meta',
  metaleft: 'meta',
  metar: 'meta',
  minus: '-',
  multiply: '*',
  next: 'page_down',
  numbersign: '#',
  optionleft: 'alt',
  optionright: 'alt',
  parenleft: '(',
  parenright: ')',
  percent: '%',
  period: '.',
  pgdn: 'page_down',
  pgup: 'page_up',
  plus: '+',
  prior: 'page_up',
  question: '?',
  quotedbl: '"',
  rightarrow: 'right',
  semicolon: ';',
  shiftl: 'shift',
  shiftleft: 'shift',
  shiftr: 'shift',
  shiftright: 'shift',
  slash: '/',
  spacebar: 'space',
  subtract: '-',
  superl: 'meta',
  superr: 'meta',
  underscore: '_',
  uparrow: 'up',
  windows: 'meta',
  winleft: 'meta',
  winright: 'meta',
};

/** Key names of two words. Other pairs are two keys: `ctrl left`. */
const TWO_WORDS =
  'page[ -]+(?:up|down)|arrow[ -]+(?:up|down|left|right)|(?:up|down|left|right)[ -]+arrow|caps[ -]+lock|space[ -]+bar|back[ -]+space';
const IS_TWO_WORDS = new RegExp(`^(?:${TWO_WORDS})$`, 'i');

/** Keys of the number pad: `num0`, `KP_0`, `Numpad0`, `KP_Add`. */
const NUMBER_PAD = /^(?:num|kp|numpad)(\d|enter|add|subtract|multiply|divide|decimal)$/;

/** Control characters that are keys. */
const CONTROLS: Readonly<Record<string, string>> = { '\n': 'enter', '\r': 'enter', '\t': 'tab' };

/** The key of this vocabulary for a name from another one; null if there is none. */
export function keyOfName(name: string): string | null {
  const known = Object.hasOwn(CONTROLS, name) ? CONTROLS[name] : canonicalKey(name);
  if (known !== null) return known;
  const plain = plainName(name);
  const named = NUMBER_PAD.exec(plain)?.[1] ?? plain;
  return Object.hasOwn(FURTHER_NAMES, named) ? FURTHER_NAMES[named] : canonicalKey(named);
}

/** The modifiers with these names, each once and in canonical order; null if another key is among them. */
export function modifiersNamed(names: readonly string[]): Modifier[] | null {
  if (names.length > MAX_KEYS) return null;
  const keys = names.map(keyOfName);
  return keys.every((key) => key !== null && isModifier(key))
    ? MODIFIERS.filter((modifier) => keys.includes(modifier))
    : null;
}

/** In lower case, without separators between words. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(IS_TWO_WORDS.test(name) ? /[ -]+/g : '_', '');
}

/** Maximum length of a chord, of which the longest has five names of keys. */
const MOST_OF_CHORD = 200;

/** A `+`, or a name between them. */
const NAMES = /\+|[^\s+](?:[^+]*[^\s+])?/g;
/** A `+`, or a name between them or between spaces. */
const SPACED_NAMES = new RegExp(String.raw`\+|\b(?:${TWO_WORDS})\b|[^\s+]+`, 'gi');

/**
 * The names of the keys in one string, separated by `+`: `ctrl+page down`. `+` is a key where a key is expected:
 * `ctrl++`.
 *
 * @param isSpaced whether a space also separates keys: `ctrl page down`, `ctrl +`
 * @returns null if a key is missing beside a `+`, or if the string is too long to be a chord
 */
export function namesInChord(chord: string, isSpaced: boolean): string[] | null {
  if (chord.length > MOST_OF_CHORD) return null;
  const found = [...chord.trim().matchAll(isSpaced ? SPACED_NAMES : NAMES)];
  const names: string[] = [];
  let needsKey = true;
  for (const [at, { 0: name, index, input }] of found.entries()) {
    if (name === '+' && !needsKey && at < found.length - 1) {
      needsKey = true;
      continue;
    }
    const isApart = isSpaced && /\s/.test(input[index - 1] ?? '');
    if (!needsKey && !isApart) return null;
    names.push(name);
    needsKey = false;
  }
  return needsKey ? null : names;
}

/** Keys in one string, separated by `+`. */
export function joinKeys(keys: readonly string[]): string {
  return keys.map((key) => (key === '+' ? 'plus' : key)).join('+');
}

const CAPITAL = /^[A-Z]$/;

/** Whether letters among the keys are shortcuts, not text: `ctrl` and `S` in a format that names keys by capitals. */
function isCommand(keys: readonly string[]): boolean {
  return ['ctrl', 'alt', 'meta'].some((key) => keys.includes(key));
}

/** Keys of a format in which a capital names a letter's key without implying Shift. */
export function keysByName(keys: readonly string[]): string[] {
  return keys.map((key) => (isCommand(keys) && CAPITAL.test(key) ? key.toLowerCase() : key));
}

/** The same keys as such a format writes them: the Shift of a capital is a separate key. */
export function keysWithShift(keys: readonly string[]): string[] {
  if (!isCommand(keys) || !keys.some((key) => CAPITAL.test(key))) return [...keys];
  const lower = keysByName(keys);
  const first = keys.findIndex((key) => CAPITAL.test(key));
  return lower.includes('shift') ? lower : lower.toSpliced(first, 0, 'shift');
}
