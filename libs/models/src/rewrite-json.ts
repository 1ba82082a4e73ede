type Json = Record<string, unknown>;

/** In the place of a number that JavaScript spells otherwise stands its text behind U+0000, which no configuration holds. */
const kept = /"\\u0000([^"]*)"/g;

/** Texts, and numbers between them. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * A JSON object with some of its fields changed and all numbers spelled as they were: transformers refuses a configuration
 * that says 1 where it wants a float such as 1.0, and JavaScript knows no difference.
 *
 * @param change gets the object with such numbers as opaque texts.
 */
export function rewriteJson(text: string, change: (json: Json) => Json): string {
  const marked = text.replaceAll(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"\\u0000${token}"`,
  );
  const changed = change(JSON.parse(marked) as Json);
  return `${JSON.stringify(changed, null, 2).replaceAll(kept, '$1')}\n`;
}
