import { makeRenderer, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import type { Screen } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import sharp from 'sharp';
import { slopeRatio } from '../../test/slope-ratio';
import { tinyModel } from '../../test/tiny-model';
import { Answerer, answeringWeights, type AskedScreen, type VisionMode } from './answerer';
import type { Question } from '../curriculum';
import { Asker, cellsOf } from './question';

const QUESTIONS: Question[] = [
  {
    intent: 'name',
    goal: 'Click "Go"',
    action: { action: 'click', x: 20, y: 12 },
    target: [[10, 8, 20, 10]],
  },
  { intent: 'copy', goal: 'Type user', action: { action: 'type', text: 'user 7' }, target: [] },
];

let folder: ModelFolder;
let screen: Screen;
let image: ProcessedImage;
let asker: Asker;

beforeAll(async () => {
  folder = await tinyModel();
  const random = new Random(2);
  const [width, height] = [48, 32];
  const rgb = Uint8Array.from({ length: width * height * 3 }, () => random.below(256));
  const characters = [{ text: 'G', box: [10, 8, 6, 9] as const }];
  screen = { seed: 0, width, height, rgb, truth: { width, height, characters, elements: [] } };
  image = await folder.imageProcessor.process(
    await sharp(rgb, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer(),
  );
  asker = new Asker(folder, makeRenderer(folder));
});

function asked(questions: readonly Question[]): AskedScreen {
  return { image, rows: questions.map((question) => asker.row(screen, image, question)) };
}

const text = (ids: ArrayLike<number>) =>
  folder.tokenizer.decode(Array.from(ids), { skipSpecialTokens: false });

test('the goal comes before the screen, and a click is three tokens and an end', () => {
  const { tokenIds, targets, answer } = asker.row(screen, image, QUESTIONS[0]);
  expect(text(tokenIds)).toMatch(
    /^<\|im_start\|>user\nClick "Go"<\|vision_start\|>(<\|image_pad\|>){6}<\|vision_end\|>/,
  );
  expect(text(Array.from(targets).slice(answer.first))).toBe('{"action":"click","x":20,"y":12}<|im_end|>');
  expect(answer.count).toBe(4);
});

test('image tokens name a character they show, and those the action is aimed at its first token', () => {
  const aimed = asker.row(screen, image, QUESTIONS[0]);
  const begin = aimed.tokenIds.indexOf(folder.family.shape.imageTokenId);
  expect(text([aimed.targets[begin + 1]])).toBe('{"action":"click",');
  expect(aimed.weights[begin + 1]).toBeGreaterThan(0);
  expect(aimed.weights[begin + 5]).toBe(0);
  const typed = asker.row(screen, image, QUESTIONS[1]);
  const first = typed.tokenIds.indexOf(folder.family.shape.imageTokenId);
  expect(text([typed.targets[first]])).toBe('G');
});

test('the spots of a question are the image tokens at its target', () => {
  const { spots, tokenIds } = asker.row(screen, image, QUESTIONS[0]);
  const begin = tokenIds.indexOf(folder.family.shape.imageTokenId);
  expect(Array.from(spots.subarray(begin - 1, begin + 7))).toEqual([-1, 0, 1, 0, 0, 0, 0, -1]);
  expect(asker.row(screen, image, QUESTIONS[1]).spots.every((spot) => spot === -1)).toBe(true);
});

test('a box covers the tokens of which it covers a third, or the one under its center', () => {
  expect(cellsOf([0, 0, 24, 16], 3)).toEqual([0, 1]);
  expect(cellsOf([17, 17, 4, 4], 3)).toEqual([4]);
});

test.each<VisionMode>(['trained', 'frozen'])(
  'the gradient with the vision tower %s is that of finite differences',
  async (mode) => {
    const trained = await answeringWeights(folder, mode);
    // It starts at zero, where the layers before it get no gradient from it.
    const { data: head } = trained.weights.get('heads.spot.weight')!;
    head.forEach((_, index) => (head[index] = Math.sin(index) / 4));
    const answerer = new Answerer(folder, trained, mode, 8);
    const sums = new Map<string, Float32Array>();
    const screens = [asked(QUESTIONS)];
    await answerer.accumulate(screens, sums);
    expect(sums.has('model.visual.merger.linear_fc2.weight')).toBe(mode === 'trained');
    const names = [
      'model.language_model.layers.0.self_attn.v_proj.weight',
      'model.language_model.embed_tokens.weight',
      'heads.spot.weight',
      'heads.spot.norm',
    ];
    if (mode === 'trained') names.push('model.visual.merger.linear_fc2.weight');
    const lossNow = async () => {
      const scored = new Map<string, Float32Array>();
      return (await answerer.accumulate(screens, scored)).total;
    };
    for (const name of names) {
      const ratio = await slopeRatio(trained.weights.get(name)!.data, sums.get(name)!, lossNow);
      expect(ratio).toBeCloseTo(1, 1);
    }
    await answerer.release();
  },
);

test('questions that share a screen give the same gradient as questions with separate screens', async () => {
  const trained = await answeringWeights(folder, 'trained');
  const answerer = new Answerer(folder, trained, 'trained', 8);
  const [together, apart] = [new Map<string, Float32Array>(), new Map<string, Float32Array>()];
  await answerer.accumulate([asked(QUESTIONS)], together);
  await answerer.accumulate(
    QUESTIONS.map((question) => asked([question])),
    apart,
  );
  for (const [name, gradient] of together) {
    const other = apart.get(name)!;
    const largest = Math.max(...gradient.map(Math.abs));
    gradient.forEach((value, index) =>
      expect(Math.abs(value - other[index])).toBeLessThan(1e-5 + largest * 1e-3),
    );
  }
  await answerer.release();
});
