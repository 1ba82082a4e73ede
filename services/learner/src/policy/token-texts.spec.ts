import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPromptFolder, makeRenderer, Tokenizer, type Renderer } from '@ui-rl/models';
import { textsOf } from './token-texts';

const model = join(__dirname, '../../../../test/golden/fixtures/qwen2-5-vl-a/model');
const read = (file: string): string => readFileSync(join(model, file), 'utf8');

let renderer: Renderer;
let tokenizer: Tokenizer;
beforeAll(async () => {
  const folder = await loadPromptFolder(model);
  const renamed = read('tokenizer.json').replaceAll('<|video_pad|>', '<|box_start|>');
  tokenizer = new Tokenizer({
    tokenizer: JSON.parse(renamed) as Record<string, unknown>,
    tokenizerConfig: JSON.parse(read('tokenizer_config.json')) as Record<string, unknown>,
  });
  renderer = makeRenderer({ ...folder, tokenizer });
});

test('a special token that the model writes has its text, the end of the turn has none', () => {
  const ids = [...tokenizer.encode('click(<|box_start|>(1,2)'), tokenizer.endOfTurnId];
  const texts = textsOf(renderer, ids);
  expect(texts.filter((text) => text === '<|box_start|>')).toHaveLength(1);
  expect(texts.at(-1)).toBe('');
  expect(texts.join('')).toBe('click(<|box_start|>(1,2)');
});

test('a character of several tokens comes with the last of them', () => {
  const ids = tokenizer.encode('<|box_start|>é');
  expect(textsOf(renderer, ids).join('')).toBe('<|box_start|>é');
});
