import { adapter, importanceSampling, TestModel, train, type Sampled } from '../test/test-model';
import type { LocalEngine } from './local-engine';

/** Families whose images consist of several pictures, and not all of as many: tiles of one size, quarters of several sizes. */
describe.each(['smolvlm-a', 'idefics2-b'])('images of several pictures, %s', (fixture) => {
  let model: TestModel;
  let engine: LocalEngine;

  beforeAll(async () => {
    model = await TestModel.of(fixture);
    engine = await model.start({ models: [adapter({ vision: true })], maxSequence: 160 });
  });
  afterAll(() => engine.stop());

  /** Answers to prompts with one image, and with two. */
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
});
