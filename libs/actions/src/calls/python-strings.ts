import { Rejection } from './rejection';

/** How strictly to read literals. */
export interface StringRules {
  /** Separator of literals that Python concatenates; `+` is also allowed. */
  gap: RegExp;
  /** Whether an escape that Python rejects (`'\x4'`) is kept as text. */
  keepsBadEscapes: boolean;
}

/** Python's rules. */
export const PYTHON: StringRules = {
  gap: /\s*(?:\+\s*)?(?=[rubftRUBFT]{0,2}["'])/y,
  keepsBadEscapes: false,
};

/**
 * For models that do not write code: `'it''s'` is a text with a quote in it, and `'C:\users'` one with a backslash.
 */
export const LOOSE: StringRules = {
  gap: /(?:\s*\+\s*|\s+)(?=[rubftRUBFT]{0,2}["'])/y,
  keepsBadEscapes: true,
};

export interface ReadString {
  value: string;
  /** Offset after the last quote. */
  end: number;
}

const OPENING = /([rubftRUBFT]{0,2})("""|'''|"|')/y;

export function startsString(text: string, at: number): boolean {
  OPENING.lastIndex = at;
  return OPENING.test(text);
}

/**
 * A Python string literal, or several that are concatenated by `+` or adjacency: `'a'`, `"""a"""`, `r'C:\temp'`, `'a'
 * 'b'`. All may contain line breaks.
 *
 * @throws Rejection
 */
export function readStrings(text: string, start: number, rules: StringRules): ReadString {
  let { value, end } = literal(text, start, rules);
  for (;;) {
    rules.gap.lastIndex = end;
    const gap = rules.gap.exec(text);
    if (gap === null) return { value, end };
    const next = literal(text, end + gap[0].length, rules);
    value += next.value;
    end = next.end;
  }
}

function literal(text: string, start: number, rules: StringRules): ReadString {
  OPENING.lastIndex = start;
  const [whole, prefix, quotes] = OPENING.exec(text)!;
  const kind = prefix.toLowerCase();
  refusePrefix(kind, { start, end: start + whole.length });
  const from = start + whole.length;
  const to = closing(text, from, quotes);
  if (to === null) throw new Rejection('malformed', { start, end: text.length }, 'A string is not closed.');
  const inside = text.slice(from, to);
  const value = kind === 'r' ? inside : unescape(inside, from, rules.keepsBadEscapes);
  return { value, end: to + quotes.length };
}

function refusePrefix(prefix: string, place: { start: number; end: number }): void {
  if (['', 'r', 'u'].includes(prefix)) return;
  if (prefix.includes('f'))
    throw new Rejection('malformed', place, 'An f-string is not evaluated: write the text itself.');
  throw new Rejection(
    'malformed',
    place,
    `Expected a text, but found ${prefix.includes('b') ? 'bytes' : `"${prefix}" before it`}.`,
  );
}

/** Offset of the quotes that close a string; a backslash escapes the next character. */
function closing(text: string, from: number, quotes: string): number | null {
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text.startsWith(quotes, at)) return at;
  }
  return null;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

const ESCAPE =
  /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([xuUN])|(\r?\n|[^]))/g;

/**
 * The value of a string's content in Python: a backslash before an unknown escape is kept.
 * @throws Rejection for an escape that Python rejects, unless it is kept
 */
export function unescape(inside: string, from: number, keepsBadEscapes: boolean): string {
  return inside.replaceAll(ESCAPE, (...found: (string | number | undefined)[]) => {
    const [whole, byte, unit, long, octal, bad, other] = found as string[];
    const index = found[7] as number;
    const code = Number.parseInt(byte ?? unit ?? long ?? octal, octal === undefined ? 16 : 8);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    if (bad === undefined && long === undefined) return ESCAPES[other.replace('\r\n', '\n')] ?? whole;
    if (keepsBadEscapes) return whole;
    const place = { start: from + index, end: from + index + whole.length };
    throw new Rejection(
      'malformed',
      place,
      `Expected an escape of Python, but found ${whole}: write \\\\ for a backslash.`,
    );
  });
}

/** A string in Python syntax, in single quotes. */
export function pythonString(value: string): string {
  // Control characters have no printed form.
  const escaped = value.replaceAll(/[\\'\p{Cc}]/gu, (character) => {
    const known = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
    return known ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `'${escaped}'`;
}
