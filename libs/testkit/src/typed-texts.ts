/** The keystrokes that a `type` action's text means, in every environment. */
export interface TypedTextCase {
  text: string;
  /** The resulting input: `\n` is one press of Enter, `\t` one of Tab. */
  typed: string;
  outcome: 'ok' | 'unsupported_character';
}

const typing = (text: string, typed = text, outcome: TypedTextCase['outcome'] = 'ok'): TypedTextCase => ({
  ...{ text, typed, outcome },
});

const [A, B] = ['a'.repeat(150), 'b'.repeat(150)];

/** Texts that environments could interpret differently. */
export const TYPED_TEXTS: readonly TypedTextCase[] = [
  typing('John\tDoe'),
  typing('\tx\t\t'),
  typing('a\nb\n'),
  typing('a\r\nb', 'a\nb'),
  typing('a\rb', 'a\nb'),
  typing('a\r\n\r\nb\n\r', 'a\n\nb\n\n'),
  typing('a\u2028b', 'a\nb'),
  typing('a\u0007b\u001b', 'ab', 'unsupported_character'),
  typing(`${A}\r${B}`, `${A}\n${B}`),
  typing(`${A}\t${B}\r\n`, `${A}\t${B}\n`),
];
