/** A piece of a text that is typed: characters as they are, or one press of a key. */
export type Keystroke = { text: string } | { key: 'enter' | 'tab' };

export interface TypedText {
  strokes: Keystroke[];
  /** How many characters are left out, since no keyboard has them. */
  untypable: number;
}

/** A line break however it is written, a tab, or characters between them. */
const PIECES = /\r\n|[\n\r\u0085\u2028\u2029]|\t|[^\n\r\u0085\u2028\u2029\t]+/g;
/** Control characters, and halves of characters. */
const UNTYPABLE = /[\p{Cc}\p{Cs}]/gu;

/**
 * What the text of a `type` action means, in every environment: a line break, whether `\n`, `\r\n`, `\r` or one of Unicode's own, presses Enter
 * once; a tab presses Tab, which moves the focus where Tab does; other control characters are left out.
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
