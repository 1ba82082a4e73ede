import { join } from 'node:path';
import type { TrainedSequence } from '@ui-rl/engine';
import { loadModelFolder, makeRenderer, type ModelFolder } from '@ui-rl/models';
import type { DescribedElement } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { projectRoot } from '@ui-rl/settings';
import { Random } from '@ui-rl/random';
import { type LessonMix, LessonMaker } from './lessons';

const elements: DescribedElement[] = [
  { kind: 'title', label: 'Network', box: [0, 0, 160, 32] },
  { kind: 'toggle', label: 'Wi-Fi', box: [0, 32, 160, 32], value: 'off' },
  { kind: 'toggle', label: 'Night light', box: [0, 64, 160, 32], value: 'on' },
];
const NAMED: LessonMix = { occluded: 0, described: 0, named: 1, stray: 0 };

let folder: ModelFolder;
let maker: LessonMaker;
let png: Uint8Array;

beforeAll(async () => {
  folder = await loadModelFolder(join(projectRoot, 'deploy/local/model'));
  const describe = (shown: readonly DescribedElement[]) => shown.map(({ label }) => label).join('\n');
  maker = new LessonMaker(folder, makeRenderer(folder), describe, ['tea']);
  const screen = { width: 160, height: 224, channels: 3 as const, background: '#fff' };
  png = await sharp({ create: screen }).png().toBuffer();
});

const text = ({ tokenIds }: TrainedSequence) =>
  folder.tokenizer.decode(Array.from(tokenIds), { skipSpecialTokens: false });

/** The target of each image token, row by row; null if it has none. */
function words({ tokenIds, targets, mask }: TrainedSequence): (string | null)[] {
  const image = folder.family.shape.imageTokenId;
  return Array.from(tokenIds).flatMap((id, index) => {
    if (id !== image) return [];
    const word = folder.tokenizer.decode([targets![index + 1]], { skipSpecialTokens: false }).trim();
    return [mask[index + 1] === 1 ? word : null];
  });
}

const ask = (count: number, mix: LessonMix) =>
  maker.samples({ png, elements, demonstrations: [] }, count, mix, new Random(1));

test('the goal comes before the screen is shown', async () => {
  const [sample] = await ask(1, NAMED);
  expect(text(sample)).toMatch(/^<\|im_start\|>user\nTap (Wi-Fi|Night light)<\|vision_start\|>/);
});

test('image tokens say what they show, and the ones the action is aimed at say its name', async () => {
  const samples = await ask(2, NAMED);
  const sample = samples.find((each) => text(each).includes('Wi-Fi'))!;
  expect(words(sample)).toEqual([
    ...['Network', 'Network', 'Network', 'Network', 'Network'],
    ...['click', 'click', 'click', 'click', 'click'],
    ...['Night', 'light', 'Night', 'light', 'on'],
    ...Array.from({ length: 20 }, () => null),
  ]);
  expect(text(sample)).toContain('{"action":"click","x":80,"y":48}');
});

test('of the sequence itself only the answer is trained', async () => {
  const [sample] = await ask(1, NAMED);
  const image = folder.family.shape.imageTokenId;
  const own = Array.from(sample.tokenIds).filter(
    (id, index) => sample.mask[index] === 1 && sample.targets![index] === id && id !== image,
  );
  expect(folder.tokenizer.decode(own, { skipSpecialTokens: true })).toMatch(/^\{"action":"click".*\}$/);
});

test('demonstrations are answered with their action, and a described screen is one sample more', async () => {
  const demonstrations = [{ goal: 'Turn on Wi-Fi', action: { action: 'click' as const, x: 80, y: 48 } }];
  const samples = await maker.samples(
    { png, elements, demonstrations },
    2,
    { occluded: 0, described: 1, named: 0.5, stray: 0 },
    new Random(1),
  );
  expect(samples.map(text)).toEqual([
    expect.stringMatching(/Tap/),
    expect.stringMatching(/Turn on Wi-Fi.*"x":80,"y":48/s),
    expect.stringMatching(/Describe.*Network\nWi-Fi\nNight light/s),
  ]);
  expect(new Set(samples.map(({ images }) => images[0].sha256)).size).toBe(1);
});

test('a field with the focus asks for words to be typed', async () => {
  const field: DescribedElement = {
    kind: 'field',
    label: 'Text',
    box: [0, 32, 160, 32],
    value: '',
    focused: true,
  };
  const samples = await maker.samples(
    { png, elements: [field], demonstrations: [] },
    3,
    NAMED,
    new Random(1),
  );
  const typed = samples.find((each) => text(each).includes('Type tea'))!;
  expect(text(typed)).toContain('{"action":"type","text":"tea"}');
  expect(words(typed).slice(0, 10)).toEqual([...Array(5).fill(null), ...Array(5).fill('type')]);
});

test('a stray action is answered, but the image still points at the right one', async () => {
  const demonstrations = [{ goal: 'Turn on Wi-Fi', action: { action: 'click' as const, x: 80, y: 48 } }];
  const mix = { occluded: 0, described: 0, named: 0, stray: 1 };
  for (let seed = 0; seed < 8; seed++) {
    const screen = { png, elements, demonstrations };
    const samples = await maker.samples(screen, 1, mix, new Random(seed));
    const [shown] = samples.filter((each) => text(each).includes('Turn on'));
    if (text(shown).includes('"y":48')) continue;
    expect(text(shown)).toMatch(/finish|"y":(16|80)/);
    expect(words(shown).slice(5, 10)).toEqual(Array(5).fill('click'));
    return;
  }
  throw new Error('no action went astray');
});
