import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChatTemplate } from '../chat';
import { Tokenizer } from '../tokenizer';
import { ControlTokens } from './control-tokens';
import { PromptEncoder } from './prompt-encoder';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const folders = [
  ...readdirSync(fixtures).map((name) => [name, join(fixtures, name, 'model')]),
  ['the shipped model', join(__dirname, '../../../../deploy/local/model')],
];

/** Counts the characters that are tokenized. */
class Counting extends Tokenizer {
  // The base constructor also encodes.
  declare characters: number;

  override encode(text: string): number[] {
    this.characters = (this.characters ?? 0) + text.length;
    return super.encode(text);
  }
}

const TEXTS = [
  'Open the settings, please.',
  '  two  spaces ',
  '\n\nlines\n',
  '<|im_end|> and </s>',
  'ünï 中文 🙂',
  '',
  '{"a": [1, 22]}',
];

describe.each(folders)('prompts of %s', (_name, dir) => {
  it('have the tokens that they have as a whole', async () => {
    const tokenizer = await Tokenizer.load(dir);
    const control = new ControlTokens(tokenizer);
    const chat = await ChatTemplate.load(dir, tokenizer.namedTokens);
    const encoder = new PromptEncoder(tokenizer, control);
    const messages = TEXTS.map((text, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: [{ type: 'text' as const, text }],
    }));
    const marked = chat.render(control.markMessages(messages), { addGenerationPrompt: true });
    const special = [...tokenizer.specialTokens.keys()];
    const texts = [
      marked,
      ...special.flatMap((token) => TEXTS.map((text) => `${text}${token}${text}${token}`)),
    ];
    for (const text of texts) {
      const whole = control.encodeMarked(text);
      expect(encoder.encode(text)).toEqual(whole);
      // Once more, from the cache; and with the exact limit.
      expect(encoder.encode(text, whole.length)).toEqual(whole);
    }
  });
});

describe('a prompt that is too long', () => {
  let tokenizer: Counting;
  let encoder: PromptEncoder;

  beforeAll(() => {
    const read = (name: string) =>
      JSON.parse(readFileSync(join(fixtures, 'qwen2-5-vl-a/model', name), 'utf8')) as Record<string, unknown>;
    tokenizer = new Counting({
      tokenizer: read('tokenizer.json'),
      tokenizerConfig: read('tokenizer_config.json'),
    });
    encoder = new PromptEncoder(tokenizer, new ControlTokens(tokenizer));
  });
  beforeEach(() => {
    tokenizer.characters = 0;
  });

  const tooLong = {
    category: 'too-long',
    message: expect.stringMatching(/^the prompt has more than 1000 tokens/),
  };

  it('is refused by its length before it is tokenized', () => {
    expect(() => encoder.encode('word '.repeat(200_000), 1_000)).toThrow(expect.objectContaining(tooLong));
    expect(() => encoder.refuseLength(30_000_000, 1_000)).toThrow(expect.objectContaining(tooLong));
    expect(() => encoder.encode('a', 1_000, 1_001)).toThrow(expect.objectContaining(tooLong));
    expect(tokenizer.characters).toBe(0);
  });

  it('is tokenized only until it shows', () => {
    const turn = (index: number) =>
      `<|im_start|>user\nTurn ${index} of many${' and on'.repeat(10)}<|im_end|>\n`;
    const text = Array.from({ length: 120 }, (_, index) => turn(index)).join('');
    expect(() => encoder.encode(text, 1_000)).toThrow(expect.objectContaining(tooLong));
    expect(tokenizer.characters).toBeLessThan(text.length * 0.75);
    expect(() => encoder.encode('x y '.repeat(3_000), 1_000)).toThrow(expect.objectContaining(tooLong));
    expect(tokenizer.characters).toBeLessThan(text.length * 0.75 + 5_000);
  });

  it('is tokenized once, however many of its turns are left out', () => {
    const turns = Array.from(
      { length: 100 },
      (_, index) => `<|im_start|>user\nStep ${index}, number ${index}<|im_end|>\n`,
    );
    let fitting: number[] | undefined;
    for (let dropped = 0; fitting === undefined; dropped += 1) {
      try {
        fitting = encoder.encode(turns.slice(dropped).join(''), 1_000);
      } catch {
        expect(dropped).toBeLessThan(100);
      }
    }
    expect(fitting.length).toBeGreaterThan(900);
    expect(tokenizer.characters).toBeLessThanOrEqual(turns.join('').length);
  });
});
