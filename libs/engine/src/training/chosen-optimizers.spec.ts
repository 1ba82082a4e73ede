import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readSafetensors } from '@ui-rl/models';
import { adapter, allWeights, scratchFolder, TestModel, train } from '../../test/test-model';

let model: TestModel;
const scratch = scratchFolder('optimizers');
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

describe('an optimizer from a module outside', () => {
  const heavyBall = { name: 'heavy-ball', momentum: 0.9 };
  /** Default of `train`. */
  const learningRate = 1e-2;

  it.each([
    ['all weights', allWeights],
    ['an adapter', adapter()],
  ])('changes %s as its formula says, and continues from a checkpoint', async (name, description) => {
    const data = model.lessons();
    const engine = await model.start({ models: [description] });
    const dirs = [0, 1, 2].map((at) => join(scratch, 'heavy-ball', name, String(at)));
    const norms: number[] = [];
    await engine.saveState({ model: 'policy', dir: dirs[0] });
    for (const dir of dirs.slice(1)) {
      norms.push((await train(engine, data, { optimizer: heavyBall, maxGradNorm: 0 })).gradNorm);
      await engine.saveState({ model: 'policy', dir });
    }
    const file = description === allWeights ? 'model.safetensors' : 'adapter_model.safetensors';
    const [before, once, twice] = await Promise.all(dirs.map((dir) => readSafetensors(join(dir, file))));
    const [first, second] = await Promise.all(
      dirs.slice(1).map((dir) => readSafetensors(join(dir, 'optimizer.safetensors'))),
    );
    expect([...second.keys()].toSorted()).toEqual(
      [...twice.keys()].map((key) => `${key}.velocity`).toSorted(),
    );
    let [squares, gap] = [0, 0];
    for (const [weight, { data: numbers }] of once) {
      const [v1, v2] = [first, second].map((state) => state.get(`${weight}.velocity`)!.data);
      const [from, to] = [before, twice].map((tensors) => tensors.get(weight)!.data);
      numbers.forEach((value, i) => {
        squares += v1[i] ** 2;
        gap = Math.max(gap, Math.abs(from[i] - learningRate * v1[i] - value));
        gap = Math.max(gap, Math.abs(value - learningRate * v2[i] - to[i]));
      });
    }
    expect(gap).toBeLessThan(1e-6);
    expect(Math.sqrt(squares) / norms[0]).toBeCloseTo(1, 4);
    const { optimizer, optimizerSteps } = JSON.parse(
      await readFile(join(dirs[1], 'engine.json'), 'utf8'),
    ) as {
      optimizer: string;
      optimizerSteps: number;
    };
    expect({ optimizer, optimizerSteps }).toEqual({ optimizer: 'heavy-ball', optimizerSteps: 1 });

    const other = await model.start({ models: [description] });
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: true });
    const again = await train(other, data, { optimizer: heavyBall, maxGradNorm: 0 });
    expect(again.gradNorm).toBe(norms[1]);
    expect(again).toMatchObject(await engine.saveWeightsForSampler({ model: 'policy', name: 'now' }));
    // Another optimizer cannot resume that state, but can start without it.
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: true });
    await expect(train(other, data)).rejects.toThrow('1 steps were taken with the optimizer heavy-ball');
    await other.loadState({ model: 'policy', dir: dirs[1], optimizer: false });
    expect((await train(other, data)).version).toBe(2);
  });

  it('gets gradients that are clipped', async () => {
    const data = model.lessons();
    const engine = await model.start({ models: [adapter()] });
    const { gradNorm } = await train(engine, data, { optimizer: heavyBall, maxGradNorm: 0.01 });
    expect(gradNorm).toBeGreaterThan(0.02);
    await engine.saveState({ model: 'policy', dir: join(scratch, 'clipped') });
    const state = await readSafetensors(join(scratch, 'clipped', 'optimizer.safetensors'));
    let squares = 0;
    for (const { data: numbers } of state.values()) for (const value of numbers) squares += value ** 2;
    expect(Math.sqrt(squares)).toBeCloseTo(0.01, 5);
  });
});

describe('an optimizer of the project', () => {
  it.each([
    ['sgd', { name: 'sgd' }],
    ['sgd with momentum', { name: 'sgd', momentum: 0.9, nesterov: true }],
    ['muon', { name: 'muon', adamw_rate: 0.1 }],
  ])('%s: learns, and continues from a checkpoint with equal results', async (name, optimizer) => {
    const data = model.lessons();
    const engine = await model.start({ models: [allWeights] });
    const dir = join(scratch, 'own', name);
    const first = await train(engine, data, { optimizer });
    await engine.saveState({ model: 'policy', dir });
    const second = await train(engine, data, { optimizer });
    expect(second.loss).toBeLessThan(first.loss);
    const other = await model.start({ models: [allWeights] });
    await other.loadState({ model: 'policy', dir, optimizer: true });
    expect((await train(other, data, { optimizer })).digest).toBe(second.digest);
  });
});
