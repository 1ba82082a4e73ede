import type { Engine, ModelInput } from '@ui-rl/plugin-kit';
import { adapter, TestModel } from '../../test/test-model';

let engine: Engine | undefined;
afterEach(() => engine?.stop());

describe('model inputs', () => {
  it.each(['qwen3-vl-a', 'smolvlm-a', 'llava-onevision-c'])(
    'with images by hash, of %s: what was sampled is scored alike, and images are fetched once',
    async (fixture) => {
      const model = await TestModel.of(fixture);
      engine = await model.start({ models: [adapter()] });
      for (const imageCount of [1, 2]) {
        const sampled = await model.sample(engine, model.prompt(imageCount, imageCount), {
          temperature: 0.8,
          seed: 3,
        });
        expect(await model.disagreement(engine, [sampled])).toBeLessThan(1e-4);
      }
      expect(model.fetched).toHaveLength(2);
    },
  );

  it('are refused where an image is not to be had, or takes other places than it is given', async () => {
    const model = await TestModel.of('qwen3-vl-a');
    engine = await model.start();
    const sample = (chunks: ModelInput['chunks']) =>
      engine!.sample({ model: 'policy', prompt: { chunks }, maxTokens: 1, temperature: 1, topP: 1, seed: 1 });
    await expect(sample([{ type: 'image', sha256: 'f00', tokens: 4 }])).rejects.toMatchObject({
      category: 'request',
      message: expect.stringContaining('the image f00 is not in memory') as string,
    });
    const [{ sha256, tokens }] = model.images;
    const text = { type: 'text', tokens: [5] } as const;
    const image = (count: number) => ({ type: 'image', sha256, tokens: count }) as const;
    await expect(sample([text, image(tokens - 1), text])).rejects.toThrow('found the end');
    await expect(sample([text, image(tokens + 1), text])).rejects.toThrow(`has ${tokens} features`);
  });

  it('are refused if the fetched bytes are not an image', async () => {
    const model = await TestModel.of('qwen3-vl-a');
    engine = await model.start({ fetchImage: async () => Buffer.from('text') });
    const request = model.request(model.prompt(0));
    await expect(engine.sample(request)).rejects.toMatchObject({
      category: 'request',
      message: expect.stringMatching(/^the image [0-9a-f]{64} cannot be prepared: /) as string,
    });
  });

  it('may show the features of an image in several places', async () => {
    const model = await TestModel.of('smolvlm-a');
    engine = await model.start();
    const [{ sha256, tokens }] = model.images;
    const image = (count: number) => ({ type: 'image', sha256, tokens: count }) as const;
    const text = { type: 'text', tokens: [5] } as const;
    const chunks = [text, image(tokens - 2), text, image(2), text];
    const request = { model: 'policy', maxTokens: 2, temperature: 0, topP: 1, seed: 1 };
    expect((await engine.sample({ ...request, prompt: { chunks } })).tokens).toHaveLength(2);
  });
});
