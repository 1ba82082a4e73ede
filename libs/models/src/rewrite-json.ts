type Json = Record<string, unknown>;

/**
 * Numbers that JavaScript would spell differently are replaced by their text after U+0000, which no configuration
 * contains.
 */
const kept = /"\\u0000([^"]*)"/g;

/** Strings, and the numbers between them. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * A JSON object with some fields changed and the spelling of all numbers preserved: transformers rejects a
 * configuration with 1 in place of a float such as 1.0, which JavaScript cannot distinguish.
 *
 * @param change receives the object with such numbers as opaque strings.
 */
export function rewriteJson(text: string, change: (json: Json) => Json): string {
  const marked = text.replaceAll(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"\\u0000${token}"`,
  );
  const changed = change(JSON.parse(marked) as Json);
  return `${JSON.stringify(changed, null, 2).replaceAll(kept, '$1')}\n`;
}
