import { makeRenderer, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import type { Screen } from '@ui-rl/page-generator';
import { askedScreen, noise, QUESTIONS } from '../../test/samples';
import { slopeRatio } from '../../test/slope-ratio';
import { tinyModel } from '../../test/tiny-model';
import { Answerer, answeringWeights, passesOf } from './answerer';
import type { GradientSums } from '../gradient-session';
import { processed } from './batches';
import { Asker, cellsOf } from './question';

let folder: ModelFolder;
let screen: Screen;
let image: ProcessedImage;
let asker: Asker;

beforeAll(async () => {
  folder = await tinyModel();
  screen = noise();
  image = processed(screen, folder);
  asker = new Asker(folder, makeRenderer(folder));
});

const gradientOf = (name: string, sums: GradientSums) => sums.get(name)!.data as Float32Array;

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

test('earlier actions stand between the goal and the screen, in the tokens of answers', () => {
  const { action } = QUESTIONS[0];
  const past = Array.from({ length: 9 }, (): typeof action => action);
  const [none, one, many] = [[], [action], past].map((earlier) =>
    asker.row(screen, image, { ...QUESTIONS[0], past: earlier }),
  );
  expect(text(one.tokenIds)).toContain('Click "Go"\n{"action":"click","x":20,"y":12}<|vision_start|>');
  expect(one.tokenIds.length).toBe(none.tokenIds.length + 4);
  expect(many.tokenIds.length).toBe(none.tokenIds.length + 7 * 4);
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

test('at a target with text, the spots are the image tokens that show text', () => {
  const question = { ...QUESTIONS[0], target: [[0, 0, 32, 16] as const] };
  const { spots, tokenIds } = asker.row(screen, image, question);
  const begin = tokenIds.indexOf(folder.family.shape.imageTokenId);
  // The target covers two tokens, of which the first shows the only character.
  expect(Array.from(spots.subarray(begin, begin + 6))).toEqual([1, -1, -1, -1, -1, -1]);
});

test('the coordinates of an answer point at all image tokens of its target', () => {
  const question = { ...QUESTIONS[0], target: [[0, 0, 32, 16] as const] };
  const { covered, coordinates, targets, tokenIds } = asker.row(screen, image, question);
  const begin = tokenIds.indexOf(folder.family.shape.imageTokenId);
  expect(Array.from(covered.subarray(begin, begin + 6))).toEqual([1, 1, 0, 0, 0, 0]);
  expect(coordinates!.map((position) => text([targets[position]]))).toEqual(['"x":20', ',"y":12}']);
  expect(asker.row(screen, image, QUESTIONS[1])).toMatchObject({ coordinates: null });
});

test('a box covers the tokens of which it covers a third, or the one under its center', () => {
  expect(cellsOf([0, 0, 24, 16], 3)).toEqual([0, 1]);
  expect(cellsOf([17, 17, 4, 4], 3)).toEqual([4]);
});

test('the gradient of the decoder is that of finite differences, and the vision tower has none', async () => {
  const trained = await answeringWeights(folder);
  // It starts at zero, where the layers before it get no gradient from it.
  const weights = await trained.values();
  const { data: head } = weights.get('heads.spot.weight')!;
  head.forEach((_, index) => (head[index] = Math.sin(index) / 4));
  const answerer = new Answerer(folder, trained);
  const sums: GradientSums = new Map();
  const screens = [askedScreen(folder)];
  await answerer.accumulate(screens, sums);
  expect([...sums.keys()].filter((name) => name.startsWith('model.visual.'))).toEqual([]);
  const names = [
    'model.language_model.layers.0.self_attn.q_proj.weight',
    'model.language_model.layers.0.self_attn.v_proj.weight',
    'model.language_model.embed_tokens.weight',
    'heads.spot.weight',
    'heads.spot.norm',
  ];
  const lossNow = async () => {
    return (await answerer.accumulate(screens, new Map())).total;
  };
  for (const name of names) {
    const ratio = await slopeRatio(weights.get(name)!.data, gradientOf(name, sums), lossNow);
    expect(ratio).toBeCloseTo(1, 1);
  }
  await answerer.release();
});

test('questions give the same gradient together, with separate screens, and one at a time', async () => {
  const trained = await answeringWeights(folder);
  const answerer = new Answerer(folder, trained);
  const oneByOne = new Answerer(folder, trained, { patches: 1, questions: 1, passTokens: 1 });
  const separate = QUESTIONS.map((question) => askedScreen(folder, [question]));
  const [together, apart, single]: GradientSums[] = [new Map(), new Map(), new Map()];
  await answerer.accumulate([askedScreen(folder)], together);
  await answerer.accumulate(separate, apart);
  await oneByOne.accumulate(separate, single);
  for (const name of together.keys()) {
    const gradient = gradientOf(name, together);
    const largest = Math.max(...gradient.map(Math.abs));
    for (const other of [apart, single].map((sums) => gradientOf(name, sums))) {
      gradient.forEach((value, index) =>
        expect(Math.abs(value - other[index])).toBeLessThan(1e-5 + largest * 1e-3),
      );
    }
  }
  await answerer.release();
  await oneByOne.release();
});

test('a pass has questions of similar lengths, unless one more pass takes longer than the padding', () => {
  const lengthsOf = (lengths: number[], passTokens: number) =>
    passesOf(
      lengths.map((length) => ({ tokenIds: new Array<number>(length).fill(0) })),
      { questions: 3, passTokens },
    ).map((pass) => pass.map(({ tokenIds }) => tokenIds.length));
  const [few, many] = [10, 200];
  expect(lengthsOf([90, 8, 100, 9, 95], few)).toEqual([
    [8, 9],
    [90, 95, 100],
  ]);
  expect(lengthsOf([8, 100], many)).toEqual([[8, 100]]);
  expect(lengthsOf([5, 5, 5, 5], many).map(({ length }) => length)).toEqual([1, 3]);
  expect(lengthsOf([], many)).toEqual([]);
});
