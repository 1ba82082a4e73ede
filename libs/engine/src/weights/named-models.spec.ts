import { join } from 'node:path';
import type { Datum } from '@ui-rl/plugin-kit';
import {
  adapter,
  allWeights,
  crossEntropy,
  frozen as frozenPolicy,
  scores,
  step,
  scratchFolder,
  TestModel,
  train,
} from '../../test/test-model';

let model: TestModel;
const scratch = scratchFolder('models');
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

describe('models over one base', () => {
  it.each([
    ['an adapter', adapter()],
    ['all weights', allWeights],
  ])('base is the model as it was loaded, while the policy trains %s', async (_name, description) => {
    const data = model.lessons();
    const [engine, frozen] = [
      await model.start({ models: [description], deterministic: true }),
      await model.start({ models: [frozenPolicy], deterministic: true }),
    ];
    await train(engine, data);
    const expected = await scores(frozen, data);
    (await scores(engine, data, 'base')).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 5));
    expect(Math.abs((await scores(engine, data))[0] - expected[0])).toBeGreaterThan(1e-3);
    const request = model.request(model.prompt(1), { maxTokens: 8, seed: 5 });
    const [base, original] = await Promise.all([
      engine.sample({ ...request, model: 'base' }),
      frozen.sample(request),
    ]);
    expect(base.tokens).toEqual(original.tokens);
    expect(base.digest).toBe(original.digest);
    await expect(train(engine, data, { model: 'base' })).rejects.toThrow('no model "base" is trained');
    await expect(train(frozen, data)).rejects.toThrow('the weights of policy are frozen');
  });

  it('base under an adapter over 4-bit layers is the model without it', async () => {
    const shipped = join(__dirname, '../../../../deploy/local/model');
    const settings = {
      modelDir: shipped,
      quantization: 'int4' as const,
      cacheDir: scratch,
      deterministic: true,
    };
    const data: Datum[] = [
      {
        modelInput: { chunks: [{ type: 'text', tokens: [10, 11, 12, 13] }] },
        targetTokens: [11, 12, 13, 14],
        weights: [1, 1, 1, 1],
      },
    ];
    const [engine, frozen] = [
      await model.start({ ...settings, models: [adapter()] }),
      await model.start({ ...settings, models: [frozenPolicy] }),
    ];
    await train(engine, data);
    const expected = await scores(frozen, data);
    expect(await scores(engine, data)).not.toEqual(expected);
    (await scores(engine, data, 'base')).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 4));
  });

  it('several adapters learn apart, each with its own gradients, optimizer and checkpoints', async () => {
    const data = model.lessons();
    const small = adapter({ rank: 2, targets: 'attention' }, 'critic');
    const engine = await model.start({ models: [adapter(), adapter({}, 'second'), small] });
    const names = ['policy', 'second', 'critic'];
    expect((await engine.info()).models).toEqual([...names, 'base']);
    const before = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await scores(engine, data, name)] as const)),
    );
    // Gradients of one model remain when the other takes a step.
    await engine.forwardBackward({ model: 'critic', data: data.slice(0, 2), loss: crossEntropy });
    expect((await train(engine, data)).version).toBe(1);
    expect(await scores(engine, data, 'second')).toEqual(before.second);
    expect(await scores(engine, data, 'critic')).toEqual(before.critic);
    expect(await scores(engine, data)).not.toEqual(before.policy);
    const policy = await scores(engine, data);
    const { metrics } = await step(engine, {
      model: 'critic',
      optimizer: { name: 'heavy-ball', momentum: 0.5 },
    });
    expect(metrics.grad_norm).toBeGreaterThan(0);
    expect(await scores(engine, data, 'critic')).not.toEqual(before.critic);
    expect(await scores(engine, data)).toEqual(policy);
    const [first, second] = ['policy', 'critic'].map((name) => join(scratch, `of-${name}`));
    await engine.saveState({ model: 'policy', dir: first });
    await engine.saveState({ model: 'critic', dir: second });
    await expect(engine.loadState({ model: 'policy', dir: second, optimizer: true })).rejects.toMatchObject({
      category: 'checkpoint',
    });
    const restored = await engine.loadState({ model: 'second', dir: first, optimizer: true });
    expect(restored.version).toBe(1);
    expect(await scores(engine, data, 'second')).toEqual(policy);
  });

  it('may be added, each with its own seed, and removed, while others stay what they are', async () => {
    const data = model.lessons();
    const [engine, alone] = [
      await model.start({ models: [], deterministic: true }),
      await model.start({ models: [adapter()], deterministic: true, seed: 1 }),
    ];
    expect((await engine.info()).models).toEqual(['base']);
    const begin = await engine.addModel({ ...adapter({}, 'first'), seed: 1 });
    const other = await engine.addModel({ ...adapter({ rank: 2 }, 'second'), seed: 2 });
    expect(other.digest).not.toBe(begin.digest);
    await expect(engine.addModel({ ...adapter({}, 'first'), seed: 1 })).rejects.toThrow('cannot be the name');
    const { digest } = await train(engine, data, { model: 'first' });
    expect(digest).toBe((await train(alone, data)).digest);
    const request = { ...model.request(model.prompt(1)), model: 'first' };
    const sampling = engine.sample({ ...request, maxTokens: 40 });
    await engine.removeModel('first');
    expect((await sampling).digest).toBe(digest);
    await expect(engine.sample(request)).rejects.toThrow('no model "first"');
    await expect(engine.removeModel('first')).rejects.toThrow('was added');
    await expect(alone.removeModel('policy')).rejects.toThrow('was added');
    expect((await engine.info()).models).toEqual(['second', 'base']);
    // Loaded from a saved folder.
    const dir = join(scratch, 'added');
    await engine.saveState({ model: 'second', dir });
    const { trainable } = adapter({ rank: 2 });
    const again = {
      name: 'third',
      role: 'policy' as const,
      trainable: { ...trainable, adapterDir: dir },
      seed: 3,
    };
    expect(await engine.addModel(again as Parameters<typeof engine.addModel>[0])).toEqual(other);
  });

  it('weights kept for sampling stay what they were, under names that mean nothing else', async () => {
    const data = model.lessons();
    const engine = await model.start({ models: [adapter()], deterministic: true });
    const request = model.request(model.prompt(2), { seed: 4 });
    const begin = await engine.sample(request);
    await engine.saveWeightsForSampler({ model: 'policy', name: 'begin' });
    await train(engine, data);
    expect(await engine.sample({ ...request, model: 'begin' })).toEqual(begin);
    expect((await engine.sample(request)).digest).not.toBe(begin.digest);
    for (const name of ['policy', 'base', '']) {
      await expect(engine.saveWeightsForSampler({ model: 'policy', name })).rejects.toThrow(
        'cannot be the name',
      );
    }
    await engine.releaseWeights('begin');
    await expect(engine.sample({ ...request, model: 'begin' })).rejects.toThrow('known: policy, base');
  });
});
