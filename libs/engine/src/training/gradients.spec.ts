import type { Engine } from '@ui-rl/plugin-kit';
import {
  adapter,
  allWeights,
  crossEntropy,
  scores,
  step,
  TestModel,
  train,
  trained,
} from '../../test/test-model';

let model: TestModel;
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

const add = (engine: Engine, data = model.lessons()) =>
  engine.forwardBackward({ model: 'policy', data, loss: crossEntropy });

describe('gradients', () => {
  it('of several calls are those of one', async () => {
    const data = model.lessons();
    const [once, often] = [await model.start(), await model.start()];
    const { metrics } = await add(once);
    let loss = 0;
    for (const datum of data) loss += (await add(often, [datum])).metrics.loss;
    expect(loss).toBeCloseTo(metrics.loss, 4);
    const [first, second] = [await step(once), await step(often)];
    expect(second.metrics.grad_norm / first.metrics.grad_norm).toBeCloseTo(1, 4);
    const [expected, found] = [await scores(once, data), await scores(often, data)];
    found.forEach((value, i) => expect(value).toBeCloseTo(expected[i], 2));
  });

  it('are the same however a batch is cut into passes', async () => {
    const data = model.lessons();
    const cuts = [
      { microBatch: {}, minPasses: 1 },
      { microBatch: {}, minPasses: 4 },
      { microBatch: { rows: 2, patches: 60 }, minPasses: 1 },
    ];
    const results: { loss: number; gradNorm: number; logprobs: number[] }[] = [];
    for (const { microBatch, minPasses } of cuts) {
      const engine = await model.start({ microBatch });
      const { loss, gradNorm } = await train(engine, data, { learningRate: 1e-3, minPasses });
      results.push({ loss, gradNorm, logprobs: await scores(engine, data) });
    }
    for (const result of results.slice(1)) {
      expect(result.loss).toBeCloseTo(results[0].loss, 4);
      expect(result.gradNorm / results[0].gradNorm).toBeCloseTo(1, 3);
      result.logprobs.forEach((value, i) => expect(value).toBeCloseTo(results[0].logprobs[i], 2));
    }
  });

  it('are what they were after a call that failed', async () => {
    const data = model.lessons();
    const [plain, disturbed] = [await model.start(), await model.start()];
    await add(plain, data.slice(0, 2));
    const expected = await step(plain);
    await add(disturbed, data.slice(0, 2));
    const broken = { ...data[2], weights: Array.from(data[2].weights, (weight) => weight && Number.NaN) };
    const bad = { model: 'policy', data: [data[3], broken], loss: crossEntropy, minPasses: 2 };
    await expect(disturbed.forwardBackward(bad)).rejects.toThrow('the loss is NaN; no gradient was added');
    expect(await step(disturbed)).toEqual(expected);
  });

  it('are forgotten with discardGradients and after a step; without any a step changes nothing', async () => {
    const engine = await model.start();
    await add(engine);
    await engine.discardGradients('policy');
    const before = (await engine.saveWeightsForSampler({ model: 'policy', name: 'before' })).digest;
    expect((await step(engine)).metrics.grad_norm).toBe(0);
    expect((await engine.saveWeightsForSampler({ model: 'policy', name: 'after' })).digest).toBe(before);
    await add(engine);
    expect((await step(engine)).metrics.grad_norm).toBeGreaterThan(0);
    expect((await step(engine)).metrics.grad_norm).toBe(0);
  });

  it('that are not finite are refused and kept for the caller to discard', async () => {
    const [datum] = model.lessons();
    const engine = await model.start();
    const huge = { ...datum, weights: Array.from(datum.weights, (weight) => weight * 1e38) };
    for (let call = 0; call < 30; call += 1) await add(engine, [huge]);
    const { digest } = await engine.saveWeightsForSampler({ model: 'policy', name: 'before' });
    await expect(step(engine)).rejects.toThrow('no step was taken');
    await engine.discardGradients('policy');
    await add(engine, [datum]);
    const after = await step(engine, { learningRate: 0 });
    expect(after.weights).toEqual({ version: 1, digest });
  });
});

describe('training', () => {
  it.each([
    ['all weights', allWeights],
    ['an adapter', adapter()],
  ])('learns by heart what it is taught, with %s', async (_name, description) => {
    const engine = await model.start({ models: [description] });
    const data = model.lessons(1 / 12);
    const losses: number[] = [];
    for (let at = 0; at < 40; at += 1) losses.push((await train(engine, data)).loss);
    expect(losses[0]).toBeGreaterThan(3);
    expect(losses.at(-1)).toBeLessThan(0.5);
    const answer = await model.sample(engine, model.prompt(1, 1), { maxTokens: 3, temperature: 0 });
    expect(answer.tokens).toEqual([21, 31, 40]);
  });

  it.each([
    ['as one graph', 'off'],
    ['layer by layer', 'on'],
  ] as const)(
    '%s lets generation continue meanwhile, with the weights it began with',
    async (_, gradientCheckpointing) => {
      const engine = await model.start({ deterministic: true, gradientCheckpointing });
      const request = model.request(model.prompt(2), { maxTokens: 60 });
      const before = await engine.sample(request);
      const training = train(engine, model.lessons(), { minPasses: 4 });
      const during = await engine.sample(request);
      expect(during).toEqual(before);
      expect((await training).version).toBe(1);
      expect((await engine.sample(request)).digest).toBe((await training).digest);
    },
  );

  it('gives the log-probabilities of what it trains, as they were before the step', async () => {
    const engine = await model.start();
    const data = model.lessons();
    const before = await scores(engine, data);
    const { logprobs } = await add(engine);
    logprobs.flatMap(trained).forEach((value, i) => expect(value).toBeCloseTo(before[i], 4));
  });

  it('refuses data that do not fit together, and stays as it was', async () => {
    const engine = await model.start();
    const [datum] = model.lessons();
    const { digest } = await engine.saveWeightsForSampler({ model: 'policy', name: 'before' });
    const length = datum.targetTokens.length;
    await expect(add(engine, [{ ...datum, weights: [1] }])).rejects.toThrow(
      `datum 0 has ${length} positions but 1 weights; expected as many`,
    );
    await expect(add(engine, [{ ...datum, lossInputs: { advantages: [1] } }])).rejects.toThrow(
      `datum 0 has ${length} positions but 1 advantages`,
    );
    await expect(add(engine, [{ ...datum, weights: Array.from(datum.weights, () => 0) }])).rejects.toThrow(
      'none of the 1 data has a token with a weight',
    );
    expect((await step(engine)).weights).toEqual({ version: 1, digest });
  });
});
