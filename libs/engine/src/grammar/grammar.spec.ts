import { Automaton, DEAD } from './automaton';
import { readPattern } from './pattern';
import { TokenBytes, TokenGrammar, TokenGrammars } from './token-grammar';

function matches(pattern: string, text: string): boolean {
  const automaton = new Automaton(readPattern(pattern));
  let state = automaton.start;
  for (const byte of Buffer.from(text, 'utf8')) {
    state = automaton.next(state, byte);
    if (state === DEAD) return false;
  }
  return automaton.isEnd(state);
}

describe('a pattern', () => {
  it.each([
    'ab?c',
    '(?:a|bc)*d',
    'x{2,3}y',
    'x{2}',
    '(ab|){2,}c',
    '[a-c0-9]+',
    String.raw`"[^"\\\x00-\x1f]*"`,
    String.raw`\{\n\}\.`,
    'é[^a]+',
    '',
  ])('%s means what it means in JavaScript', (pattern) => {
    const expected = new RegExp(`^(?:${pattern})$`, 'u');
    const texts = [
      '',
      'ac',
      'abc',
      'abcd',
      'bcad',
      'd',
      'xxy',
      'xxxy',
      'xxxxy',
      'xx',
      'c',
      'ababc',
      'a9c',
      '"',
      '""',
    ];
    for (const text of [...texts, '"a b"', '"ä猫🙂"', '"a\n"', '"a"b"', '{\n}.', 'éb猫', 'éa', 'é', 'cab']) {
      expect([text, matches(pattern, text)]).toEqual([text, expected.test(text)]);
    }
  });

  it.each([
    ['a)', 'closes nothing'],
    ['(a', 'has no ")"'],
    ['*a', '"*" has no meaning here'],
    ['[a-', 'ends too early'],
    [String.raw`\w`, String.raw`"\w" is not known`],
    ['[ä]', 'ASCII characters only'],
    ['a{2000}', 'at most 1000'],
    ['((a{1000}){1000}){1000}', 'more than 50000 places'],
  ])('%s is refused', (pattern, why) => {
    expect(() => new Automaton(readPattern(pattern))).toThrow(why);
  });
});

describe('a grammar of tokens', () => {
  const texts = ['{', '{"', '"a', 'a', 'ab', 'b', '"', '"}', '}', '猫'];
  const bytes: (Uint8Array | undefined)[] = texts.map((text) => Buffer.from(text, 'utf8'));
  // Parts of a character, and a token without text.
  bytes.push(Uint8Array.of(0xe7, 0x8c), Uint8Array.of(0xab), undefined);
  const stop = bytes.length - 1;
  const tokens = new TokenBytes(bytes);

  /** The tokens that may follow, as texts. */
  function after(pattern: string, before: number[]): (string | number)[] {
    const grammar = new TokenGrammar(pattern, tokens);
    const state = before.reduce((at, token) => grammar.after(at, token), grammar.start);
    return [...grammar.next(state, [stop])].map((id) => texts[id] ?? id);
  }

  it('lets tokens follow that lead on within it, across any token boundary', () => {
    const pattern = String.raw`\{"(?:ab|a猫)"\}`;
    expect(after(pattern, [])).toEqual(['{', '{"']);
    expect(after(pattern, [0])).toEqual(['"a', '"']);
    expect(after(pattern, [0, 2])).toEqual(['b', '猫', 10]);
    expect(after(pattern, [0, 2, 10])).toEqual([11]);
    expect(after(pattern, [0, 2, 10, 11])).toEqual(['"', '"}']);
    expect(after(pattern, [0, 2, 5, 7])).toEqual([stop]);
    expect(after('a*', [3])).toEqual(['a', stop]);
  });

  it('says where no token can lead on', () => {
    expect(() => after('z', [])).toThrow('no token of the model stands for');
  });

  it('is made once for a text', () => {
    const grammars = new TokenGrammars(() => bytes);
    expect(grammars.get('a*')).toBe(grammars.get('a*'));
    expect(grammars.get('a*')).not.toBe(grammars.get('b*'));
  });
});

describe('a grammar that is made to take long', () => {
  const tokens = new TokenBytes(Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)));

  it.each(['(a?){1000}(b?){1000}(c?){1000}', '(?:a*){1000}(?:b*){1000}(?:c*){1000}'])(
    '%s is refused',
    (pattern) => {
      expect(() => new TokenGrammar(pattern, tokens)).toThrow(
        /more than 1000 places at once: write fewer optional parts/,
      );
    },
  );

  it('is refused once it has too many states', () => {
    // Requires one of the last 20 characters to be an a: two to the power of 20 states.
    const automaton = new Automaton(readPattern('[ab]*a[ab]{20}'));
    const walk = () => {
      let seed = 1;
      let state = automaton.start;
      for (let step = 0; step < 1_000_000; step += 1) {
        seed = (seed * 48_271) % 2_147_483_647;
        state = automaton.next(state, seed % 2 === 0 ? 0x61 : 0x62);
      }
    };
    expect(walk).toThrow('the grammar has more than 50000 states: make it simpler');
  });
});
