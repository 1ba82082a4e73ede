import { canonicalKey } from './schema';

/** Names that X (`xdotool`), Android and `pyautogui` have for keys, in lower case and without `_`. */
const FURTHER_NAMES: Readonly<Record<string, string>> = {
  altleft: 'alt',
  altright: 'alt',
  altl: 'alt',
  altr: 'alt',
  apostrophe: "'",
  asterisk: '*',
  at: '@',
  backslash: '\\',
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
  equal: '=',
  exclam: '!',
  forwarddel: 'delete',
  grave: '`',
  kpenter: 'enter',
  metal: 'meta',
  metaleft: 'meta',
  metar: 'meta',
  minus: '-',
  next: 'page_down',
  numbersign: '#',
  optionleft: 'alt',
  optionright: 'alt',
  period: '.',
  pgdn: 'page_down',
  pgup: 'page_up',
  plus: '+',
  prior: 'page_up',
  question: '?',
  quotedbl: '"',
  semicolon: ';',
  shiftl: 'shift',
  shiftleft: 'shift',
  shiftr: 'shift',
  shiftright: 'shift',
  slash: '/',
  spacebar: 'space',
  superl: 'meta',
  superr: 'meta',
  underscore: '_',
  windows: 'meta',
  winleft: 'meta',
  winright: 'meta',
};

/** The key of this vocabulary that has the name in some other one; null where none has. */
export function keyOfName(name: string): string | null {
  const known = canonicalKey(name);
  if (known !== null) return known;
  const plain = name.toLowerCase().replaceAll('_', '');
  return Object.hasOwn(FURTHER_NAMES, plain) ? FURTHER_NAMES[plain] : canonicalKey(plain);
}

/** Keys in one string with `+` between them. */
export function joinKeys(keys: readonly string[]): string {
  return keys.map((key) => (key === '+' ? 'plus' : key)).join('+');
}

const CAPITAL = /^[A-Z]$/;

/** Whether letters among the keys are pressed, not written: `ctrl` and `S` in a format that names keys by capitals. */
function isCommand(keys: readonly string[]): boolean {
  return ['ctrl', 'alt', 'meta'].some((key) => keys.includes(key));
}

/** Keys of a format in which a capital names a letter's key and says nothing of Shift. */
export function keysByName(keys: readonly string[]): string[] {
  return keys.map((key) => (isCommand(keys) && CAPITAL.test(key) ? key.toLowerCase() : key));
}

/** The same keys as such a format writes them: the Shift of a capital is a key of its own. */
export function keysWithShift(keys: readonly string[]): string[] {
  if (!isCommand(keys) || !keys.some((key) => CAPITAL.test(key))) return [...keys];
  const lower = keysByName(keys);
  const first = keys.findIndex((key) => CAPITAL.test(key));
  return lower.includes('shift') ? lower : lower.toSpliced(first, 0, 'shift');
}
