import { join } from 'node:path';
import { Engine } from '../test/token-engine';
import type { EngineOptions, TrainSample } from '../test/token-types';

const modelDir = join(__dirname, '../../../test/golden/fixtures/qwen3-vl-a/model');

const samples: TrainSample[] = [3, 8].map((length, index) => {
  const tokenIds = Array.from({ length: 6 + length }, (_, i) => 10 + ((7 * i + 31 * index) % 200));
  return { tokenIds, images: [], mask: tokenIds.map((_, i) => Number(i > 4)), advantages: 1 };
});

/** Three supervised steps, and what the weights say then. */
async function trained(
  dropout: number,
  changes: Partial<EngineOptions> = {},
): Promise<{ digest: string; losses: number[]; before: number[]; after: number[] }> {
  const lora = { rank: 4, alpha: 8, targets: 'attention+mlp', dropout };
  const engine = await Engine.start({
    modelDir,
    device: 'cpu',
    trainable: { mode: 'lora', lora },
    maxRows: 2,
    maxSequence: 64,
    threads: 2,
    seed: 1,
    ...changes,
  });
  try {
    const said = async (): Promise<number[]> =>
      (await engine.logprobs(samples)).flatMap((values) => [...values].filter(Number.isFinite));
    const before = await said();
    const losses: number[] = [];
    let digest = '';
    for (let step = 0; step < 3; step += 1) {
      const result = await engine.trainStep({
        samples,
        loss: { name: 'cross_entropy', aggregation: 'token-mean' },
        learningRate: 0.02,
        maxGradNorm: 1,
        minibatches: 2,
      });
      losses.push(result.metrics['optim/loss']);
      ({ digest } = result);
    }
    return { digest, losses, before, after: await said() };
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
  // An adapter that has learnt nothing yet gives the same whatever it reads; after that it does not.
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
