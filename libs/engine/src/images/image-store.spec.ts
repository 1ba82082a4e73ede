import { loadImageProcessor, type ImageProcessor } from '@ui-rl/models';
import sharp from 'sharp';
import { TestModel, train, type Sampled } from '../../test/test-model';
import type { LocalEngine } from '../local-engine';

const IMAGES = 6;

/** A picture of one color, different for each number. */
function picture(number: number): Promise<Buffer> {
  const background = { r: 40 * number, g: 20, b: 200 - 30 * number };
  return sharp({ create: { width: 64, height: 48, channels: 3, background } })
    .png()
    .toBuffer();
}

describe.each([
  { memory: 'two of its images', share: 2.5 },
  { memory: 'no image', share: 0.5 },
])('an engine whose processor has memory for $memory, and that cannot fetch any', ({ share }) => {
  let model: TestModel;
  let engine: LocalEngine;

  beforeAll(async () => {
    const pngs = await Promise.all(Array.from({ length: IMAGES }, (_, number) => picture(number)));
    const { folder } = await TestModel.of('smolvlm-a');
    model = await TestModel.in(folder.dir, pngs);
    const imageProcessor = await processorFor(model, pngs, share);
    engine = await model.start({ imageProcessor, fetchImage: () => Promise.resolve(null) });
  });
  afterAll(() => engine.stop());

  it('samples more rows at once than it has memory for, and trains on all of them', async () => {
    const answers = await sampled([0, 1, 2, 3, 4, 5]);
    expect(new Set(answers.map(({ prompt }) => prompt.images[0].key)).size).toBe(IMAGES);
    expect(await model.disagreement(engine, answers)).toBeLessThan(1e-4);
    const data = model.sampledData(answers, (index) => index - 2);
    const { gradNorm } = await train(engine, data, { loss: { name: 'importance_sampling' } });
    expect(gradNorm).toBeGreaterThan(0);
  });

  it('answers two clients whose images displace each other, and a prompt with all images', async () => {
    const [first, second] = await Promise.all([sampled([0, 1, 2, 3]), sampled([5, 4, 3, 2])]);
    expect([...first, ...second].every(({ tokens }) => tokens.length === 3)).toBe(true);
    const prompt = model.showing(model.images.slice(0, 4), [10], [5]);
    const { tokens } = await model.sample(engine, prompt, { maxTokens: 3, seed: 1 });
    expect(tokens).toHaveLength(3);
  });

  function sampled(images: readonly number[]): Promise<Sampled[]> {
    return Promise.all(
      images.map((image) => {
        const prompt = model.showing([model.images[image]], [10 + image], [5]);
        return model.sample(engine, prompt, { maxTokens: 3, seed: image });
      }),
    );
  }
});

/** A processor that has processed the images, with memory for this many of them. */
async function processorFor(
  { folder, images }: TestModel,
  pngs: readonly Buffer[],
  share: number,
): Promise<ImageProcessor> {
  const cacheBytes = Math.floor(share * images[0].patches.byteLength);
  const processor = await loadImageProcessor(folder.dir, folder.family, { cacheBytes });
  for (const png of pngs) await processor.process(png);
  return processor;
}
