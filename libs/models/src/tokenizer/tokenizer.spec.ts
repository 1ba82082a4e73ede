import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, property, string } from 'fast-check';
import { buildSmallTokenizer, Tokenizer } from '.';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');

interface Expected {
  tokenizer: { text: string; ids: number[] }[];
  special_ids: Record<string, number>;
}

describe.each(readdirSync(fixtures))('the tokenizer of %s', (name) => {
  const own = JSON.parse(readFileSync(join(fixtures, name, 'expected.json'), 'utf8')) as Expected;

  test.each(own.tokenizer.map(({ text, ids }) => [text, ids] as const))(
    'gives the ids of the reference for %j',
    async (text, ids) => {
      const tokenizer = await Tokenizer.load(join(fixtures, name, 'model'));
      expect(tokenizer.encode(text)).toEqual(ids);
      for (const [token, id] of Object.entries(own.special_ids)) expect(tokenizer.requireId(token)).toBe(id);
    },
  );
});

describe('a tokenizer of a Hugging Face folder', () => {
  const dir = join(fixtures, 'qwen3-vl-a', 'model');
  const expected = JSON.parse(
    readFileSync(join(fixtures, 'qwen3-vl-a', 'expected.json'), 'utf8'),
  ) as Expected;
  let tokenizer: Tokenizer;

  beforeAll(async () => {
    tokenizer = await Tokenizer.load(dir);
  });

  test.each(expected.tokenizer.map(({ text, ids }) => [text, ids] as const))(
    'gives the text of the ids of %j',
    (text, ids) => expect(tokenizer.decode(ids)).toBe(text.normalize('NFC')),
  );

  test('knows its special tokens', () => {
    for (const [token, id] of Object.entries(expected.special_ids))
      expect(tokenizer.requireId(token)).toBe(id);
    expect(tokenizer.eosTokenIds).toEqual([expected.special_ids['<|im_end|>']]);
    expect(tokenizer.vocabSize).toBe(300);
  });

  test('names the missing token and those there are', () => {
    expect(() => tokenizer.requireId('<image>')).toThrow(
      /tokenizer\.json has no token "<image>".*<\|image_pad\|>/,
    );
  });

  test('can take special tokens for plain text', () => {
    const ids = tokenizer.encodePlain('a<|im_end|>');
    expect(ids).not.toContain(expected.special_ids['<|im_end|>']);
    expect(tokenizer.decode(ids)).toBe('a<|im_end|>');
  });

  test('skips special tokens when told to', () => {
    const ids = tokenizer.encode('done<|im_end|>');
    expect(tokenizer.decode(ids, { skipSpecialTokens: true })).toBe('done');
    expect(tokenizer.decode([])).toBe('');
  });

  test('decodes token by token what it decodes at once', () => {
    const decoder = tokenizer.incremental();
    const pieces = tokenizer.encode('Äß 漢字 🙂!').map((id) => decoder.push(id));
    expect(pieces.join('') + decoder.flush()).toBe('Äß 漢字 🙂!');
    expect(pieces.some((piece) => piece.includes('\uFFFD'))).toBe(false);
    expect(pieces[pieces.length - 1]).toBe('!');
  });

  test('gives out an incomplete character at the end', () => {
    const decoder = tokenizer.incremental();
    const [first] = tokenizer.encode('漢');
    expect(decoder.push(first)).toBe('');
    expect(decoder.flush()).toBe('\uFFFD');
  });

  test('says what is missing', async () => {
    await expect(Tokenizer.load(fixtures)).rejects.toThrow(/has no tokenizer\.json/);
    expect(() => new Tokenizer({ tokenizer: { model: { type: 'Magic' } }, source: 'x.json' })).toThrow(
      /x\.json does not describe/,
    );
  });

  test.each([
    [
      'a pattern that is none',
      { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated', invert: false },
    ],
    [
      'a behaviour that is not a text',
      { type: 'Split', pattern: { Regex: 'a' }, behavior: [1], invert: false },
    ],
  ])('refuses %s', (_what, preTokenizer) => {
    const tokenizer = {
      pre_tokenizer: preTokenizer,
      model: { type: 'BPE', vocab: { a: 0 }, merges: [] },
      added_tokens: [],
    };
    expect(() => new Tokenizer({ tokenizer, source: 'x.json' })).toThrow(/x\.json does not describe/);
  });

  test.each([
    ['as large as a table of all ids must not become', { '*': 2 ** 31 }, [], '"*" has id 2147483648'],
    ['that are not a number', { '*': '9' }, [], '"*" has id "9"'],
    ['of added tokens below 0', {}, [{ id: -1, content: '<a>' }], '"<a>" has id -1'],
    ['of added tokens that are nothing', {}, [null], 'undefined has id undefined'],
    [
      'of a content that is not a text',
      {},
      [{ id: 1, content: { length: 1e9 } }],
      '{"length":1000000000} has id 1',
    ],
  ])('refuses ids %s', (_what, vocab, added, message) => {
    const model = { type: 'BPE', vocab, merges: [] };
    expect(() => new Tokenizer({ tokenizer: { model, added_tokens: added }, source: 'x.json' })).toThrow(
      `x.json: token ${message}, expected a text with a whole number`,
    );
  });
});

describe('the small tokenizer', () => {
  const words = ['Turn on', 'Wi-Fi', 'Settings', 'Setting', 'click', 'type', 'done', 'Größe', 'down'];
  const pieces = [
    '{"action":"',
    '","x":',
    ',"y":',
    '","text":"',
    '"}',
    '}',
    '","success":',
    'true',
    '","direction":"',
  ];
  const built = buildSmallTokenizer(words, pieces);
  let dir: string;
  let tokenizer: Tokenizer;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'small-tokenizer-'));
    const files = Object.entries(built.files);
    await Promise.all(files.map(([name, content]) => writeFile(join(dir, name), content)));
    tokenizer = await Tokenizer.load(dir);
  });
  afterAll(() => rm(dir, { recursive: true }));

  const split = (text: string) => tokenizer.encode(text).map((id) => tokenizer.decode([id]));

  test('an action takes few tokens', () => {
    expect(split('{"action":"click","x":83,"y":41}')).toEqual([
      '{"action":"',
      'click',
      '","x":',
      '83',
      ',"y":',
      '41',
      '}',
    ]);
    expect(split('{"action":"type","text":"done"}')).toEqual([
      '{"action":"',
      'type',
      '","text":"',
      'done',
      '"}',
    ]);
    expect(split('{"action":"finish","success":true}').slice(-3)).toEqual(['","success":', 'true', '}']);
  });

  test('every number of a screen is one token', () => {
    const ids = Array.from({ length: 256 }, (_, number) => tokenizer.encode(String(number)));
    expect(ids.every((id) => id.length === 1)).toBe(true);
    expect(new Set(ids.flat()).size).toBe(256);
    expect(split('1234')).toEqual(['123', '4']);
    expect(split('999')).toEqual(['9', '9', '9']);
  });

  test('words are single tokens with and without a space before them', () => {
    expect(split('Turn on Wi-Fi')).toEqual(['Turn', ' on', ' Wi-Fi']);
    expect(split('Settings Setting')).toEqual(['Settings', ' Setting']);
    expect(split('Größe Größe')).toEqual(['Größe', ' Größe']);
    expect(split('Wi-Fiber')).not.toContain('Wi-Fi');
  });

  test('a prompt has one token per role and newline', () => {
    expect(split('<|im_start|>user\nTurn<|im_end|>\n')).toEqual([
      '<|im_start|>',
      'user',
      '\n',
      'Turn',
      '<|im_end|>',
      '\n',
    ]);
    expect(tokenizer.eosTokenIds).toEqual([tokenizer.idOf('<|im_end|>'), tokenizer.idOf('<|endoftext|>')]);
    expect(tokenizer.vocabSize).toBe(built.vocabSize);
  });

  test('every text survives', () => {
    assert(
      property(string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  test('a vocabulary may have as many tokens as that of a large model', () => {
    const { files } = buildSmallTokenizer([], []);
    const tokenizer = JSON.parse(files['tokenizer.json']) as { model: { vocab: Record<string, number> } };
    for (let id = built.vocabSize; id < 150_000; id++) tokenizer.model.vocab[`t${id}`] = id;
    expect(new Tokenizer({ tokenizer }).vocabSize).toBe(150_000);
  });

  test('without words every word is spelled, and a role is one token with its line feed', () => {
    const { files } = buildSmallTokenizer([], ['{"action":"click",']);
    const spelling = new Tokenizer({
      tokenizer: JSON.parse(files['tokenizer.json']) as Record<string, unknown>,
    });
    const split = (text: string) => spelling.encode(text).map((id) => spelling.decode([id]));
    expect(split('<|im_start|>user\nuser click{"action":"click",')).toEqual([
      ...['<|im_start|>', 'user\n', 'u', 's', 'e', 'r', ' ', 'c', 'l', 'i', 'c', 'k', '{"action":"click",'],
    ]);
  });

  test('refuses numbers of more than three digits', () => {
    expect(() => buildSmallTokenizer([], [], { largestNumber: 1000 })).toThrow(/largestNumber is 1000/);
  });
});
