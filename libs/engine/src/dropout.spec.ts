import type { Datum } from '@ui-rl/plugin-kit';
import { adapter, scores, TestModel, train } from '../test/test-model';
import type { LocalEngineSettings } from './local-engine';

let model: TestModel;
let data: Datum[];
beforeAll(async () => {
  model = await TestModel.of('qwen3-vl-a', []);
  data = [3, 8].map((length, index) => {
    const tokenIds = Array.from({ length: 6 + length }, (_, i) => 10 + ((7 * i + 31 * index) % 200));
    const prompt = { tokenIds: tokenIds.slice(0, 5), images: [] };
    return model.datum(prompt, tokenIds.slice(5), 1 / 13);
  });
});

/** Losses of three supervised steps, and log-probabilities before and after. */
async function trained(
  dropout: number,
  changes: Partial<LocalEngineSettings> = {},
): Promise<{ digest: string; losses: number[]; before: number[]; after: number[] }> {
  const description = adapter({ targets: 'attention+mlp', dropout });
  const engine = await model.start({ models: [description], maxRows: 2, maxSequence: 64, ...changes });
  try {
    const before = await scores(engine, data);
    const losses: number[] = [];
    let digest = '';
    for (let step = 0; step < 3; step += 1) {
      const result = await train(engine, data, { learningRate: 0.02, minPasses: 2 });
      losses.push(result.loss);
      ({ digest } = result);
    }
    return { digest, losses, before, after: await scores(engine, data) };
  } finally {
    await engine.stop();
  }
}

function difference(a: readonly number[], b: readonly number[]): number {
  return Math.max(...a.map((value, i) => Math.abs(value - b[i])));
}

test('dropout takes part in training alone, repeats with the seed, and is another with another seed', async () => {
  const [first, again, other, none] = [
    await trained(0.4),
    await trained(0.4),
    await trained(0.4, { seed: 2 }),
    await trained(0),
  ];
  expect(again).toEqual(first);
  // A fresh adapter gives the same output with and without dropout; a trained one does not.
  expect(first.before).toEqual(none.before);
  expect(first.losses[0]).toBeCloseTo(none.losses[0], 5);
  expect(difference(first.losses, none.losses)).toBeGreaterThan(1e-3);
  expect(difference(first.losses, other.losses)).toBeGreaterThan(1e-3);
});

test('a pass layer by layer drops the same when it computes a layer again', async () => {
  const whole = await trained(0.4, { gradientCheckpointing: 'off' });
  const layers = await trained(0.4, { gradientCheckpointing: 'on' });
  expect(difference(whole.losses, layers.losses)).toBeLessThan(1e-4);
  expect(difference(whole.after, layers.after)).toBeLessThan(1e-3);
});
