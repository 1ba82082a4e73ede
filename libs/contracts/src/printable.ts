/**
 * Characters that a terminal would interpret or hide: control characters, bidirectional marks, lone surrogates, line
 * separators. Joiners are allowed because characters consist of them.
 */
const UNPRINTABLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Untrusted text on one line, safe for a terminal or a log: unprintable characters are escaped as in JSON, `\u001b`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** Like `printable` for text of several lines and with tabs. JSON text keeps its meaning. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (found) => (found === '\n' || found === '\t' ? found : escaped(found)));
}

function escaped(found: string): string {
  if (found in NAMED) return NAMED[found];
  const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
