import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadPromptFolder, makeRenderer, Tokenizer, type Renderer } from '..';

const model = join(__dirname, '../../../../test/golden/fixtures/qwen2-5-vl-a/model');
const read = (file: string): string => readFileSync(join(model, file), 'utf8');

let renderer: Renderer;
let tokenizer: Tokenizer;
let folderShape: { imageTokenId: number };
beforeAll(async () => {
  const folder = await loadPromptFolder(model);
  folderShape = folder.family.shape;
  const renamed = read('tokenizer.json').replaceAll('<|video_pad|>', '<|box_start|>');
  tokenizer = new Tokenizer({
    tokenizer: JSON.parse(renamed) as Record<string, unknown>,
    tokenizerConfig: JSON.parse(read('tokenizer_config.json')) as Record<string, unknown>,
  });
  renderer = makeRenderer({ ...folder, tokenizer });
});

test('a special token that the model writes has its text, the end of the turn has none', () => {
  const ids = [...tokenizer.encode('click(<|box_start|>(1,2)'), tokenizer.endOfTurnId];
  const texts = renderer.answerTexts(ids);
  expect(texts.filter((text) => text === '<|box_start|>')).toHaveLength(1);
  expect(texts.at(-1)).toBe('');
  expect(texts.join('')).toBe('click(<|box_start|>(1,2)');
});

test('a character of several tokens comes with the last of them', () => {
  const ids = tokenizer.encode('<|box_start|>é');
  expect(renderer.answerTexts(ids).join('')).toBe('<|box_start|>é');
});

test('the prompt has its special tokens, and one mark for each run of image placeholders', () => {
  const { imageTokenId } = folderShape;
  const [before, after] = [tokenizer.encode('<|im_start|>user\nlook: '), tokenizer.encode(' and click')];
  const ids = [...before, ...Array<number>(9).fill(imageTokenId), ...after, imageTokenId];
  expect(renderer.promptText(ids)).toBe('<|im_start|>user\nlook: \uFFFC and click\uFFFC');
});

test('the middle of a long prompt is left out', () => {
  const text = renderer.promptText(tokenizer.encode(`begin ${'x '.repeat(20_000)}end`));
  expect(text).toMatch(/^begin x x/);
  expect(text).toContain('[… 20009 characters left out …]');
  expect(text).toMatch(/x end$/);
});
