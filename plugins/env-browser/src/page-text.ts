/** Maximum length of page text in a log or an error. */
const MAX_TEXT = 500;

/** Control characters, bidirectional overrides, line separators, lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
/** The same for multi-line text, which may contain tabs and line breaks. */
const UNSTORABLE = /(?![\t\n\r])[\p{Cc}\p{Cs}]/gu;

/** Page text for logs and errors: one line, truncated. */
export function pageText(text: string, maxLength = MAX_TEXT): string {
  const line = text.slice(0, maxLength).replace(UNPRINTABLE, ' ').trim();
  return text.length > maxLength ? `${line} …` : line;
}

/** The page's state without control characters, for checks, logs and the database. */
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
