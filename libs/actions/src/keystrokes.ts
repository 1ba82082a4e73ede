/** A piece of typed text: characters as they are, or one press of a key. */
export type Keystroke = { text: string } | { key: 'enter' | 'tab' };

export interface TypedText {
  strokes: Keystroke[];
  /** Number of characters that are dropped because they cannot be typed. */
  untypable: number;
}

/** Any form of line break, a tab, or characters between them. */
const PIECES = /\r\n|[\n\r\u0085\u2028\u2029]|\t|[^\n\r\u0085\u2028\u2029\t]+/g;
/** Control characters, and lone surrogates. */
const UNTYPABLE = /[\p{Cc}\p{Cs}]/gu;

/**
 * The keystrokes of a `type` action's text, in every environment: a line break, whether `\n`, `\r\n`, `\r` or one of
 * Unicode's own, presses Enter once; a tab presses Tab, which moves the focus; other control characters are dropped.
 */
export function keystrokesOf(text: string): TypedText {
  let untypable = 0;
  const strokes = [...text.matchAll(PIECES)].flatMap(([piece]): Keystroke[] => {
    if (piece === '\t') return [{ key: 'tab' }];
    if (/^[\n\r\u0085\u2028\u2029]/.test(piece)) return [{ key: 'enter' }];
    const typable = piece.replace(UNTYPABLE, '');
    untypable += piece.length - typable.length;
    return typable === '' ? [] : [{ text: typable }];
  });
  return { strokes, untypable };
}
