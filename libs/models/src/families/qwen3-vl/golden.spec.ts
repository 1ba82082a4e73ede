import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from '@ui-rl/graph';
import { Parameters } from '../../nn/parameters';
import { WeightStore } from '../../weights/store';
import type { Family, ImageInput, TrainerOptions } from '../base';
import { familyOf } from '../registry';

const fixtures = join(__dirname, '../../../../../test/golden/fixtures');

interface Expected {
  images: { grid: [number, number, number] }[];
  prompt_ids: number[];
  response_ids: number[];
  loss: number;
  logprobs: number[];
  text_only: { ids: number[]; logprobs: number[] };
  greedy_ids: number[];
  lora: { loss: number; logprobs: number[]; greedy_ids: number[] };
}

interface Case {
  dir: string;
  expected: Expected;
  tensors: WeightStore;
  family: Family;
  weights: WeightStore;
  images: ImageInput[];
  ids: number[];
}

async function load(name: string): Promise<Case> {
  const dir = join(fixtures, name);
  const expected = JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as Expected;
  const config = join(dir, 'model/config.json');
  const family = familyOf(JSON.parse(readFileSync(config, 'utf8')), config);
  const weights = await WeightStore.open(join(dir, 'model'));
  weights.check(family.parameters());
  await weights.prepare();
  const tensors = await WeightStore.openFile(join(dir, 'expected.safetensors'));
  const [, size] = tensors.entry('pixel_values').shape;
  const pixels = await tensors.read('pixel_values');
  let row = 0;
  const images = expected.images.map(({ grid }) => {
    const begin = row * size;
    row += grid[0] * grid[1] * grid[2];
    return { grid, patches: pixels.slice(begin, row * size) };
  });
  return {
    dir,
    expected,
    tensors,
    family,
    weights,
    images,
    ids: [...expected.prompt_ids, ...expected.response_ids],
  };
}

function worst(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(found).toHaveLength(expected.length);
  let most = 0;
  for (let i = 0; i < expected.length; i++) most = Math.max(most, Math.abs(found[i] - expected[i]));
  return most;
}

describe.each(['qwen3-vl-a', 'qwen3-vl-b'])('%s against transformers', (name) => {
  let golden: Case;
  beforeAll(async () => {
    golden = await load(name);
  });

  test('image and deepstack features', async () => {
    const { family, weights, images, tensors } = golden;
    const { graph } = family.buildForward({ kind: 'vision', parameters: new Parameters({ weights }) });
    const session = await Session.create(graph);
    const { feeds, rowsPerImage } = family.visionFeeds(images);
    const results = await session.run(feeds);
    for (const [key, reference] of [
      ['image_features', 'vision_features'],
      ...Array.from({ length: family.shape.deepstack }, (_, i) => [
        `deepstack_features.${i}`,
        `deepstack_features.${i}`,
      ]),
    ]) {
      const data = results[key].data as Float32Array;
      const size = family.shape.hiddenSize;
      const found = images.flatMap(({ grid }, n) => [
        ...data.subarray(n * rowsPerImage * size, (n * rowsPerImage + family.imageTokens(grid)) * size),
      ]);
      expect(worst(found, await tensors.read(reference))).toBeLessThan(1e-4);
    }
    await session.release();
  });

  test.each(['patches', 'none'] as TrainerOptions['images'][])(
    'log-probabilities of every token, %s',
    async (kind) => {
      const { family, weights, images, ids, expected } = golden;
      const { graph, logProbs } = family.buildForward({
        kind: 'trainer',
        parameters: new Parameters({ weights }),
        images: kind,
      });
      graph.output('log_probs', logProbs);
      const session = await Session.create(graph);
      const tokenIds = kind === 'none' ? expected.text_only.ids : ids;
      const mask = tokenIds.map((_, i) => (i === 0 ? 0 : 1));
      const row = { tokenIds, mask, images: kind === 'none' ? [] : images.map((_, i) => i) };
      const { feeds } = family.trainerFeeds([row], images, { images: kind });
      const { log_probs } = await session.run(feeds);
      const reference = kind === 'none' ? expected.text_only.logprobs : expected.logprobs;
      expect(worst(log_probs.data as Float32Array, reference)).toBeLessThan(1e-4);
      await session.release();
    },
  );
});
