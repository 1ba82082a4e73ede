/** Printable ASCII without space: the reading head's alphabet. Class 0 is "nothing". */
const FIRST = 33;
const LAST = 126;
export const CHARACTER_CLASSES = LAST - FIRST + 3;
/** The class of every character outside the alphabet. */
const OTHER = CHARACTER_CLASSES - 1;
export const NOTHING = 0;

export function classOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  return code >= FIRST && code <= LAST ? code - FIRST + 1 : OTHER;
}

/** The character of a class; U+FFFD for one outside the alphabet, '' for nothing. */
export function characterOf(index: number): string {
  if (index === NOTHING) return '';
  return index === OTHER ? '\uFFFD' : String.fromCodePoint(index + FIRST - 1);
}
