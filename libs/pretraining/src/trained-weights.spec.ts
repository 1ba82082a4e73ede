import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tensor } from '@ui-rl/graph';
import { readSafetensors, writeSafetensors } from '@ui-rl/models';
import { averageIn, TrainedWeights } from './trained-weights';

const dir = mkdtempSync(join(tmpdir(), 'ui-rl-trained-weights-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const WEIGHTS = new Map([
  ['layer.weight', { shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) }],
  ['norm.weight', { shape: [2], data: Float32Array.of(1, -1) }],
]);

const gradients = () =>
  new Map([
    ['layer.weight', tensor('float32', [1, 0, 0, -1], [2, 2])],
    ['norm.weight', tensor('float32', [0.5, 0.5])],
  ]);

const numbers = (values: Map<string, { data: unknown }>) =>
  [...WEIGHTS.keys()].map((name) => Array.from(values.get(name)!.data as Float32Array));

test('the averages follow the weights: quickly at first, and they stay when saved and loaded', async () => {
  const trained = await TrainedWeights.create(WEIGHTS, { matrices: 'muon' });
  const before = numbers(await trained.averages());
  expect(before).toEqual(numbers(WEIGHTS));
  await trained.update(gradients(), 0.1);
  const after = numbers(await trained.values());
  const averages = numbers(await trained.averages());
  averages.flat().forEach((average, index) => {
    const [from, to] = [before.flat()[index], after.flat()[index]];
    expect(to).not.toBe(from);
    expect(average).toBeCloseTo(from + 0.9 * (to - from), 6);
  });
  const file = join(dir, 'with.safetensors');
  await trained.save(file);
  const stored = await readSafetensors(file);
  const feeds = Object.entries(trained.averageFeeds());
  expect(feeds.map(([name, { data }]) => [name, Array.from(data as Float32Array)])).toEqual(
    [...WEIGHTS.keys()].map((name, index) => [name, averages[index]]),
  );
  expect(numbers(new Map([...WEIGHTS.keys()].map((name) => [name, averageIn(stored, name)!])))).toEqual(
    averages,
  );
  const restored = await TrainedWeights.create(WEIGHTS, { matrices: 'muon' });
  await restored.load(file);
  expect(numbers(await restored.averages())).toEqual(averages);
  expect(numbers(await restored.values())).toEqual(after);
  await trained.release();
  await restored.release();
});

test('the averages begin at the weights of a file that has none', async () => {
  const trained = await TrainedWeights.create(WEIGHTS);
  await trained.update(gradients(), 0.1);
  const file = join(dir, 'without.safetensors');
  await trained.save(file);
  const saved = [...(await readSafetensors(file))].filter(([name]) => !name.startsWith('average/'));
  const old = new Map(
    saved.map(([name, { data, shape }]) => [name, { shape, data: Float32Array.from(data) }]),
  );
  expect(averageIn(old, 'norm.weight')).toBe(old.get('norm.weight'));
  await writeSafetensors(file, old, { metadata: { step: '1' } });
  const restored = await TrainedWeights.create(WEIGHTS);
  await restored.load(file);
  expect(numbers(await restored.averages())).toEqual(numbers(await trained.values()));
  await trained.release();
  await restored.release();
});
