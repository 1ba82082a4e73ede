/** Longest text of a page in a log or an error. */
const MAX_TEXT = 500;

/** Control characters, those that turn the direction of text, what ends a line, halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** The same, but for what text of several lines has. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

/** Text of a page as logs and errors may show it: one line, bounded. */
export function pageText(text: string, maxLength = MAX_TEXT): string {
  const line = text.slice(0, maxLength).replace(UNPRINTABLE, ' ').trim();
  return text.length > maxLength ? `${line} …` : line;
}

/** The state that a page tells as checks, logs and the database may have it: without control characters. */
export function pageState(state: Record<string, unknown>): Record<string, unknown> {
  const read = (value: unknown): unknown => {
    if (typeof value === 'string') return storable(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(read);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [storable(key), read(item)]));
  };
  return read(state) as Record<string, unknown>;
}

function storable(text: string): string {
  return text.replace(UNSTORABLE, ' ');
}
