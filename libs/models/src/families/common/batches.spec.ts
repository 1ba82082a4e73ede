import { join } from 'node:path';
import { ops, Session } from '@ui-rl/graph';
import { normals } from '@ui-rl/random';
import { loadFamily } from '../../folder';
import { Parameters } from '../../nn/parameters';
import { WeightStore } from '../../weights/store';
import type { Family, ImageInput, TrainerRow } from '../base';
import { predictingNext } from './next-tokens';

const model = join(__dirname, '../../../../../test/golden/fixtures/qwen3-vl-a/model');

let family: Family;
let session: Session;
const images: ImageInput[] = [image([1, 4, 6], 1), image([1, 2, 2], 2)];
let rows: TrainerRow[];

function image(grid: [number, number, number], seed: number): ImageInput {
  return { grid, patches: normals(grid[1] * grid[2] * 3 * 8 * 8, 1, seed) };
}

/** Every token after the first is trained. */
function row(tokenIds: number[], own: number[], temperature?: number): TrainerRow {
  return { ...predictingNext(tokenIds), images: own, temperature };
}

beforeAll(async () => {
  family = await loadFamily(model);
  const pad = family.shape.imageTokenId;
  const large = Array<number>(6).fill(pad);
  rows = [
    row([10, ...large, 11, 12], [0]),
    row([13, 14, ...large, 15, pad, 16, 17, 18], [0, 1], 0.5),
    row([19, 20, 21], []),
    row([22, pad, 23], [1], 2),
  ];
  const parameters = new Parameters({ weights: await WeightStore.open(model) });
  const trainer = family.buildForward({ kind: 'trainer', parameters, images: 'patches' });
  trainer.graph.output('log_probs', trainer.logProbs);
  trainer.graph.output('entropy', trainer.entropy());
  session = await Session.create(trainer.graph, { threads: 1 });
});
afterAll(() => session.release());

async function run(batch: TrainerRow[], { padTo = 1, own = images } = {}) {
  const { feeds, selected } = family.trainerFeeds(batch, own, { images: 'patches', padTo });
  const { log_probs: logProbs, entropy } = await session.run(feeds);
  return {
    selected,
    logProbs: [...(logProbs.data as Float32Array)],
    entropy: [...(entropy.data as Float32Array)],
  };
}

test('a padded batch of samples that share images gives what each sample alone gives', async () => {
  const together = await run(rows, { padTo: 16 });
  const alone: number[] = [];
  for (const single of rows) alone.push(...(await run([single])).logProbs);
  expect(together.selected.map(({ row: r, position }) => [r, position])).toEqual(
    rows.flatMap(({ tokenIds }, r) => tokenIds.slice(1).map((_, position) => [r, position])),
  );
  expect(together.logProbs).toHaveLength(alone.length);
  together.logProbs.forEach((value, i) => expect(value).toBeCloseTo(alone[i], 4));
});

describe('a pack of sequences with the same beginning', () => {
  let packedSession: Session;
  beforeAll(async () => {
    const parameters = new Parameters({ weights: await WeightStore.open(model) });
    const options = { kind: 'trainer', parameters, images: 'patches', packed: true } as const;
    const trainer = family.buildForward(options);
    trainer.graph.output('log_probs', trainer.logProbs);
    packedSession = await Session.create(trainer.graph, { threads: 1 });
  });
  afterAll(() => packedSession.release());

  /** Sequences of different lengths after the same prompt of 9 tokens, one with another image, and one without. */
  function sequences(): TrainerRow[] {
    const pad = family.shape.imageTokenId;
    const prompt = [10, ...Array<number>(6).fill(pad), 11, 12];
    const after = (rest: number[], own: number[], temperature?: number): TrainerRow => {
      const whole = row([...prompt, ...rest], own, temperature);
      return { ...whole, selected: whole.tokenIds.map((_, t) => Number(t >= 8 && t < 8 + rest.length)) };
    };
    return [after([20, 21, 22], [0]), rows[2], after([30, 15, pad, 31], [0, 1], 0.5), after([40], [0])];
  }

  test('gives what each sequence alone gives', async () => {
    const batch = sequences();
    const packs = [
      { rows: [0, 2, 3], shared: 8 },
      { rows: [1], shared: 0 },
    ];
    const { feeds, selected } = family.trainerFeeds(batch, images, { images: 'patches', packs, padTo: 8 });
    expect(feeds.token_ids.dims).toEqual([2, 24]);
    const together = (await packedSession.run(feeds)).log_probs.data as Float32Array;
    const alone: number[] = [];
    for (const single of batch) alone.push(...(await run([single])).logProbs);
    expect(selected.map(({ row: r }) => r)).toEqual([0, 0, 0, 1, 1, 2, 2, 2, 2, 3]);
    expect(together).toHaveLength(alone.length);
    together.forEach((value, i) => expect(value).toBeCloseTo(alone[i], 4));
  });

  test('is refused if it shares a token that a sequence selects', () => {
    const packs = [
      { rows: [0, 2, 3], shared: 9 },
      { rows: [1], shared: 0 },
    ];
    expect(() => family.trainerFeeds(sequences(), images, { images: 'patches', packs })).toThrow(
      'position 8 is selected, but is one of the 9 tokens that its pack shares',
    );
  });
});

test('the content of an image matters to the samples that have it, and to no other', async () => {
  const before = await run(rows);
  const after = await run(rows, { own: [images[0], image([1, 2, 2], 9)] });
  const changed = new Set(
    before.selected
      .filter((_, i) => Math.abs(before.logProbs[i] - after.logProbs[i]) > 1e-5)
      .map(({ row: r }) => r),
  );
  expect([...changed]).toEqual([1, 3]);
});

test('hidden states of the selected positions are what the output layer reads', async () => {
  const parameters = new Parameters({ weights: await WeightStore.open(model) });
  const { graph, hidden, logProbs } = family.buildForward({ kind: 'trainer', parameters, images: 'none' });
  const outputLayer = 'lm_head.weight';
  const weight = parameters.get(graph, outputLayer, [family.shape.vocabSize, family.shape.hiddenSize]);
  graph.output('hidden', hidden);
  graph.output('again', ops.logSoftmax(ops.linear(hidden, weight), 1));
  graph.output('log_probs', logProbs);
  const own = await Session.create(graph, { threads: 1 });
  const text = rows[2];
  const results = await own.run(family.trainerFeeds([text], [], { images: 'none' }).feeds);
  await own.release();
  expect(results.hidden.dims).toEqual([2, family.shape.hiddenSize]);
  const again = results.again.data as Float32Array;
  [0, 1].forEach((token) => {
    const found = again[token * family.shape.vocabSize + text.targets[token]];
    expect(found).toBeCloseTo((results.log_probs.data as Float32Array)[token], 5);
  });
});

test('temperature: the distribution is that of the divided logits', async () => {
  const trained = { ...rows[2], selected: [1, 0, 0] };
  const sharp = await run([{ ...trained, temperature: 0.25 }]);
  const flat = await run([{ ...trained, temperature: 1e6 }]);
  const size = family.shape.vocabSize;
  expect(flat.logProbs[0]).toBeCloseTo(-Math.log(size), 3);
  expect(flat.entropy[0]).toBeCloseTo(Math.log(size), 3);
  expect(sharp.entropy[0]).toBeLessThan((await run([trained])).entropy[0]);
});

test('a position can be trained to predict another token than the one that follows', async () => {
  const row = rows[2];
  const selected = row.tokenIds.map((_, position) => (position === 0 ? 1 : 0));
  const every = Array.from({ length: family.shape.vocabSize }, (_, id) => id);
  const said = async (id: number) =>
    (await run([{ ...row, selected, targets: row.tokenIds.map(() => id) }])).logProbs[0];
  const logProbs: number[] = [];
  for (const id of every) logProbs.push(await said(id));
  expect(logProbs.reduce((sum, logProb) => sum + Math.exp(logProb), 0)).toBeCloseTo(1, 4);
  expect(logProbs[row.tokenIds[1]]).toBeCloseTo((await run([{ ...row, selected }])).logProbs[0], 5);
});

describe('a batch that does not fit is refused', () => {
  const feed = (batch: TrainerRow[], own = images): unknown =>
    family.trainerFeeds(batch, own, { images: 'patches' });

  test.each([
    [
      'targets of another length',
      () => feed([{ ...rows[2], targets: [0] }]),
      /sample 0: 3 tokens but 1 targets/,
    ],
    [
      'selection of another length',
      () => feed([{ ...rows[2], selected: [0] }]),
      /3 tokens but 1 selected places/,
    ],
    [
      'nothing selected',
      () => feed([{ ...rows[2], selected: [0, 0, 0] }]),
      /no position of the batch is selected/,
    ],
    ['unknown image', () => feed([{ ...rows[3], images: [2] }]), /names image 2 of a batch of 2/],
    ['too few placeholders', () => feed([{ ...rows[3], images: [0] }]), /needs 6 placeholders/],
    ['an image too few', () => feed([{ ...rows[1], images: [0] }]), /placeholder/],
    [
      'patches that do not fit the grid',
      () => family.visionFeeds([images[0], { ...images[1], grid: [1, 2, 4] }]),
      /image 1: grid .* needs 8 patches of 192 numbers, found 768/,
    ],
    ['a film', () => family.visionFeeds([{ ...images[0], grid: [2, 4, 3] }]), /only still images/],
    [
      'a temperature of 0',
      () => feed([{ ...rows[2], temperature: 0 }]),
      /temperature: expected a positive number, found 0/,
    ],
  ])('%s', (_, build, message) => {
    expect(build).toThrow(message);
  });
});
