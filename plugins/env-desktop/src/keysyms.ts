/** Keysyms by key names of the action format (X11/keysymdef.h). */
const NAMED: Record<string, number> = {
  alt: 0xffe9,
  backspace: 0xff08,
  caps_lock: 0xffe5,
  ctrl: 0xffe3,
  delete: 0xffff,
  down: 0xff54,
  end: 0xff57,
  enter: 0xff0d,
  escape: 0xff1b,
  home: 0xff50,
  insert: 0xff63,
  left: 0xff51,
  meta: 0xffeb,
  page_down: 0xff56,
  page_up: 0xff55,
  right: 0xff53,
  shift: 0xffe1,
  space: 0x20,
  tab: 0xff09,
  up: 0xff52,
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, 0xffbe + i])),
};

export const SHIFT = NAMED.shift;

/** The keysym of a key name; null for a character without one. */
export function keysymOfKey(key: string): number | null {
  return Object.hasOwn(NAMED, key) ? NAMED[key] : keysymOf(key);
}

/** The keysym of a character; null for control characters. */
export function keysymOf(character: string): number | null {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return null;
  // Latin-1 characters are their own keysyms; others set the Unicode bit.
  return code <= 0xff ? code : 0x0100_0000 + code;
}
