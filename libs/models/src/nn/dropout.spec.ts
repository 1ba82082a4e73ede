import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Graph, gradients, ops, Session, tensor, type Tensor } from '@ui-rl/graph';
import { loadFamily } from '../folder';
import { loadAdapter } from '../lora/adapter';
import { WeightStore } from '../weights/store';
import { DROPOUT_SEED, dropOut } from './dropout';
import { Parameters } from './parameters';
import type { Family } from '../families/base';
import { predictingNext } from '../families/common/next-tokens';

const goldens = join(__dirname, '../../../../test/golden');

/** The result of dropout on ones [rows, columns] in several layers. */
async function keptOf(
  rows: number,
  columns: number,
  rate: number,
  seed: number,
  layers = ['layers.0.q_proj'],
): Promise<Float32Array[]> {
  const graph = new Graph('dropout');
  const x = graph.input('x', 'float32', ['R', columns]);
  layers.forEach((layer, i) => graph.output(`${i}`, dropOut(x, layer, rate)));
  const session = await Session.create(graph, { threads: 1 });
  const ones = tensor('float32', new Float32Array(rows * columns).fill(1), [rows, columns]);
  const found = await session.run({ x: ones, [DROPOUT_SEED]: tensor('int64', [seed], []) });
  await session.release();
  return layers.map((_, i) => found[`${i}`].data as Float32Array);
}

function mean(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

test('the rate is kept as a whole, by row and by column', async () => {
  const [rows, columns] = [512, 384];
  const [kept] = await keptOf(rows, columns, 0.25, 42);
  expect(Math.abs(mean(kept) - 0.75)).toBeLessThan(0.01);
  const byRow = Array.from({ length: rows }, (_, row) =>
    mean(kept.subarray(row * columns, (row + 1) * columns)),
  );
  const byColumn = Array.from({ length: columns }, (_, column) =>
    mean(kept.filter((_value, i) => i % columns === column)),
  );
  // Six standard deviations of a random share.
  expect(Math.max(...byRow.map((share) => Math.abs(share - 0.75)))).toBeLessThan(
    6 * Math.sqrt(0.1875 / columns),
  );
  expect(Math.max(...byColumn.map((share) => Math.abs(share - 0.75)))).toBeLessThan(
    6 * Math.sqrt(0.1875 / rows),
  );
});

test('rows, layers and seeds are independent of each other, and equal seeds repeat', async () => {
  const layers = ['layers.0.q_proj', 'layers.1.q_proj'];
  const [first, second] = await keptOf(300, 256, 0.5, 7, layers);
  const [other] = await keptOf(300, 256, 0.5, 8, layers);
  const agreement = (a: Float32Array, b: Float32Array): number =>
    mean(a.map((value, i) => (value === b[i] ? 1 : 0)));
  for (const [a, b] of [
    [first, second],
    [first, other],
    [first.subarray(256), first.subarray(0, -256)],
    [first.subarray(1), first.subarray(0, -1)],
  ]) {
    expect(Math.abs(agreement(a, b) - 0.5)).toBeLessThan(0.015);
  }
  expect((await keptOf(300, 256, 0.5, 7, layers))[0]).toEqual(first);
});

describe('against PEFT with the same masks', () => {
  const dir = join(goldens, 'lora-dropout');
  const expected = JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as {
    case: string;
    rate: number;
    seed: number;
    loss: number;
    logprobs: number[];
  };

  test('log-probabilities, loss and gradients of every adapter matrix', async () => {
    const golden = join(goldens, 'fixtures', expected.case);
    const family = await loadFamily(join(golden, 'model'));
    const weights = await WeightStore.open(join(golden, 'model'), family.checkpointName);
    const { plan, tensors } = await loadAdapter(join(golden, 'adapter'), family);
    const lora = { ...plan, config: { ...plan.config, dropout: expected.rate } };
    const parameters = new Parameters({ weights, lora });
    const forward = family.buildForward({ kind: 'trainer', parameters, images: 'features', dropout: true });
    const { graph, logProbs } = forward;
    const conversation = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
      prompt_ids: number[];
      response_ids: number[];
      images: { grid: [number, number, number] }[];
    };
    const answer = conversation.response_ids.length;
    const loss = ops.neg(ops.reduceMean(ops.slice(logProbs, 0, -answer)));
    graph.output('logprobs', logProbs);
    graph.output('loss', loss);
    const names = [...parameters.inputs.keys()];
    gradients(loss, [...parameters.inputs.values()]).forEach((value, i) =>
      graph.output(`d.${names[i]}`, value),
    );
    const session = await Session.create(graph, { threads: 1 });
    const tokenIds = [...conversation.prompt_ids, ...conversation.response_ids];
    const reference = await WeightStore.openFile(join(golden, 'expected.safetensors'));
    const images = conversation.images.map(({ grid }) => ({ grid, patches: new Float32Array(0) }));
    const row = { ...predictingNext(tokenIds), images: images.map((_, i) => i) };
    const { feeds, featureRows } = family.trainerFeeds([row], images, { images: 'features' });
    const features: Record<string, Tensor> = {};
    for (const [input, name] of featureNames(family)) {
      features[input] = await padded(
        reference,
        name,
        images.map((image) => family.imageTokens(image)),
        featureRows,
      );
    }
    const adapter = names.map((name) => {
      const { data, shape } = tensors.get(name)!;
      return [name, tensor('float32', data, shape)] as const;
    });
    const found = await session.run({
      ...feeds,
      ...features,
      ...Object.fromEntries(adapter),
      [DROPOUT_SEED]: tensor('int64', [expected.seed], []),
    });
    await session.release();
    expect(difference(found.logprobs.data as Float32Array, expected.logprobs)).toBeLessThan(1e-4);
    expect(Number(found.loss.data[0])).toBeCloseTo(expected.loss, 4);
    const derivatives = await WeightStore.openFile(join(dir, 'lora_gradients.safetensors'));
    expect(names.toSorted()).toEqual(derivatives.names().toSorted());
    for (const name of names) {
      const wanted = await derivatives.read(name);
      const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const most = difference(found[`d.${name}`].data as Float32Array, wanted);
      expect([name, most < 1e-3 * largest]).toEqual([name, true]);
    }
  });
});

function featureNames({ features }: Family): [input: string, reference: string][] {
  return features.map(({ name }) => [name, name === 'image_features' ? 'vision_features' : name]);
}

/** The stacked features of all images, each padded to its number of rows in the batch. */
async function padded(
  reference: WeightStore,
  name: string,
  tokens: readonly number[],
  rows: readonly number[],
): Promise<Tensor> {
  const [, width] = reference.entry(name).shape;
  const data = await reference.read(name);
  const total = rows.reduce((sum, count) => sum + count, 0);
  const out = new Float32Array(total * width);
  let [from, to] = [0, 0];
  tokens.forEach((count, i) => {
    out.set(data.subarray(from * width, (from + count) * width), to * width);
    from += count;
    to += rows[i];
  });
  return tensor('float32', out, [total, width]);
}

function difference(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(found).toHaveLength(expected.length);
  return Array.from(found).reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0);
}
