/**
 * What a terminal would obey, or show as nothing: control characters, marks that turn the direction of text, halves of characters, separators
 * of lines. Joiners are parts of characters.
 */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A text of others on one line, as a terminal or a log may show it: what cannot be printed is written as JSON writes it, `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same of text of several lines, which may be tabulated. In JSON nothing changes but the writing. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (found) => (found === '\n' || found === '\t' ? found : escaped(found)));
}

function escaped(found: string): string {
  if (found in NAMED) return NAMED[found];
  const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
