import { BrowserError } from './errors';

/** Longest text of a page in a log or an error. */
const MAX_TEXT = 500;
const MAX_STATE_CHARACTERS = 2 ** 20;
const MAX_STATE_DEPTH = 64;

/** Control characters, those that turn the direction of text, what ends a line, halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** The same, but for what text of several lines has. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

/** Text of a page as logs and errors may show it: one line, bounded. */
export function pageText(text: string, maxLength = MAX_TEXT): string {
  const line = text.slice(0, maxLength).replace(UNPRINTABLE, ' ').trim();
  return text.length > maxLength ? `${line} …` : line;
}

/**
 * The state that a page tells as checks, logs and the database may have it: without control characters, of bounded size
 * and depth. Throws `BrowserError` where it is larger.
 */
export function pageState(state: Record<string, unknown>): Record<string, unknown> {
  let room = MAX_STATE_CHARACTERS;
  const take = (characters: number) => {
    room -= characters;
    if (room < 0) refuse(`more than ${MAX_STATE_CHARACTERS} characters`);
  };
  const text = (value: string) => {
    take(value.length + 2);
    return value.replace(UNSTORABLE, ' ');
  };
  const read = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value !== 'object' || value === null) {
      take(8);
      return value;
    }
    if (depth > MAX_STATE_DEPTH) refuse(`more than ${MAX_STATE_DEPTH} objects inside of each other`);
    take(2);
    if (Array.isArray(value)) return value.map((item) => read(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [text(key), read(item, depth + 1)]));
  };
  return read(state, 1) as Record<string, unknown>;
}

function refuse(found: string): never {
  throw new BrowserError('page_error', `the state of the page has ${found}`);
}
