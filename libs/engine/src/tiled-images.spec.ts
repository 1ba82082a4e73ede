import type { Datum } from '@ui-rl/plugin-kit';
import { adapter, importanceSampling, TestModel, train, type Sampled } from '../test/test-model';
import type { LocalEngine } from './local-engine';

/**
 * Families whose images consist of several pictures, in varying number: tiles of one size, quarters of several sizes.
 */
describe.each(['smolvlm-a', 'idefics2-b'])('images of several pictures, %s', (fixture) => {
  let model: TestModel;
  let engine: LocalEngine;

  beforeAll(async () => {
    model = await TestModel.of(fixture);
    engine = await model.start({ models: [adapter({ vision: true })], maxSequence: 160 });
  });
  afterAll(() => engine.stop());

  /** Answers to prompts with one image and with two. */
  function sampled(): Promise<Sampled[]> {
    return Promise.all(
      [0, 1, 2].map((index) => {
        const [first, second] = [model.images[index % 2], model.images[(index + 1) % 2]];
        const prompt = model.showing(index > 1 ? [first, second] : [first], [10 + index], [5]);
        return model.sample(engine, prompt, { maxTokens: 5 + index, seed: 7 + index });
      }),
    );
  }

  it('sampler and trainer agree, before and after a step that reaches the vision tower', async () => {
    const before = await sampled();
    expect(await model.disagreement(engine, before)).toBeLessThan(1e-4);
    const data = model.sampledData(before, (index) => 1 - index);
    await train(engine, data, { loss: importanceSampling, learningRate: 0.02 });
    expect(await model.disagreement(engine, before)).toBeGreaterThan(1e-3);
    expect(await model.disagreement(engine, await sampled())).toBeLessThan(1e-4);
  });

  it('pairs of answers have the same gradient in one graph and layer by layer', async () => {
    const pairs = preferences(model);
    const found = [];
    for (const gradientCheckpointing of ['off', 'on'] as const) {
      const own = await model.start({
        models: [adapter({ vision: true })],
        maxSequence: 160,
        gradientCheckpointing,
      });
      found.push(await train(own, pairs, { loss: { name: 'dpo' } }));
      await own.stop();
    }
    const [whole, layers] = found;
    expect(whole.gradNorm).toBeGreaterThan(0);
    expect(layers.loss).toBeCloseTo(whole.loss, 5);
    expect(layers.gradNorm / whole.gradNorm).toBeCloseTo(1, 4);
  });
});

/** Two pairs of answers to prompts with an image each. */
function preferences(model: TestModel): Datum[] {
  return [0, 1, 2, 3].map((index): Datum => {
    const pair = Math.floor(index / 2);
    const datum = model.datum(model.showing([model.images[pair]], [10 + pair], [5]), [
      20 + index,
      30,
      41 + pair,
    ]);
    const reference_logprobs = new Float32Array(datum.targetTokens.length).fill(-5 - index / 10);
    const side = index % 2 === 0 ? 'chosen' : 'rejected';
    return {
      ...datum,
      lossInputs: { reference_logprobs },
      sequence: String(index),
      pair: { id: String(pair), side },
    };
  });
}
