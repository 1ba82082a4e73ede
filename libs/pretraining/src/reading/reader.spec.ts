import { join } from 'node:path';
import type { ModelFolder } from '@ui-rl/models';
import { readScreens } from '../../test/samples';
import { slopeRatio } from '../../test/slope-ratio';
import { tinyModel } from '../../test/tiny-model';
import type { GradientSums } from '../gradient-session';
import type { MatrixOptimizer, TrainedWeights } from '../trained-weights';
import { readingHeads } from './heads';
import { Reader, readingWeights } from './reader';

const heads = readingHeads();
let folder: ModelFolder;

beforeAll(async () => {
  folder = await tinyModel();
});

/** The training loss. */
function total(losses: Readonly<Record<string, number>>): number {
  return heads.reduce((sum, { name, weight }) => sum + weight * losses[name], 0);
}

test('the gradient of the reading loss is that of finite differences', async () => {
  const trained = await readingWeights(folder, heads, 1);
  const reader = new Reader(folder, heads, trained, 2);
  const shown = readScreens(folder, 3);
  const sums: GradientSums = new Map();
  await reader.accumulate(shown, sums);
  const weights = await trained.values();
  const lossNow = async () => total(await reader.accumulate(shown, new Map()));
  for (const name of ['model.visual.blocks.0.attn.qkv.weight', 'heads.local.weight', 'heads.x.bias']) {
    const ratio = await slopeRatio(weights.get(name)!.data, sums.get(name)!.data as Float32Array, lossNow);
    expect(ratio).toBeCloseTo(1, 1);
  }
  await reader.release();
});

test.each<MatrixOptimizer>(['adamw', 'muon'])(
  'with %s it predicts its training screens, and continues from a file as if it had not stopped',
  async (optimizer) => {
    const shown = readScreens(folder, 2);
    const trained = await readingWeights(folder, heads, 1, { matrices: optimizer });
    const reader = new Reader(folder, heads, trained);
    const step = async (of: Reader, weights: TrainedWeights) => {
      const sums: GradientSums = new Map();
      const losses = await of.accumulate(shown, sums);
      await weights.update(sums, 0.02);
      return total(losses);
    };
    const first = await step(reader, trained);
    for (let i = 0; i < 60; i++) await step(reader, trained);
    const file = join(folder.dir, 'reader.safetensors');
    await trained.save(file);
    const resumed = await readingWeights(folder, heads, 2, { matrices: optimizer });
    await resumed.load(file);
    expect(resumed.steps).toBe(61);
    const again = new Reader(folder, heads, resumed);
    expect(await step(again, resumed)).toBe(await step(reader, trained));
    expect(await step(again, resumed)).toBe(await step(reader, trained));
    expect(await step(reader, trained)).toBeLessThan(first / 4);
    const [predicted] = await reader.predict(shown.map(({ image }) => image));
    const { targets } = shown[0];
    const asked = Array.from(targets.kind, (target, index) => ({ target, index })).filter(
      ({ target }) => target > 0,
    );
    expect(asked.map(({ index }) => predicted.kind[index])).toEqual(asked.map(({ target }) => target));
    await reader.release();
    await again.release();
  },
);
