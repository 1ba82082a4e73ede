import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadModelFolder, type ModelFolder, type ProcessedImage } from '@ui-rl/models';
import { Engine } from '../test/token-engine';
import type { Prompt, TrainSample } from '../test/token-types';

const fixtures = join(__dirname, '../../../test/golden/fixtures');
const lora = { rank: 4, alpha: 8, targets: 'all-linear' as const, dropout: 0, vision: true };

/** Families whose images consist of several pictures, and not all of as many: tiles of one size, quarters of several sizes. */
describe.each(['smolvlm-a', 'idefics2-b'])('images of several pictures, %s', (name) => {
  const modelDir = join(fixtures, name, 'model');
  let folder: ModelFolder;
  let images: ProcessedImage[];
  let engine: Engine;

  beforeAll(async () => {
    folder = await loadModelFolder(modelDir);
    const files = ['0.png', '1.png'].map((file) => readFileSync(join(fixtures, name, 'images', file)));
    images = await Promise.all(files.map((png) => folder.imageProcessor.process(png)));
    engine = await Engine.start({
      modelDir,
      device: 'cpu',
      trainable: { mode: 'lora', lora },
      maxRows: 4,
      maxSequence: 160,
      threads: 2,
      seed: 1,
    });
  });
  afterAll(() => engine.stop());

  function prompt(index: number): Prompt {
    const own = [images[index % 2], ...(index > 1 ? [images[(index + 1) % 2]] : [])];
    const { imageTokenId } = folder.family.shape;
    const shown = own.flatMap(({ tokens }) => [90, ...new Array<number>(tokens).fill(imageTokenId), 91]);
    return { tokenIds: [10 + index, ...shown, 5], images: own };
  }

  /** What the sampler says of a few tokens it sampled, as samples to train. */
  function sampled(): Promise<TrainSample[]> {
    return Promise.all(
      [0, 1, 2].map(async (index) => {
        const from = prompt(index);
        const result = await engine.generate({
          prompt: from,
          maxTokens: 5 + index,
          temperature: 1,
          topP: 1,
          seed: 7 + index,
        });
        const begin = from.tokenIds.length;
        const tokenIds = [...Array.from(from.tokenIds), ...result.tokenIds];
        const oldLogprobs = new Float32Array(tokenIds.length);
        oldLogprobs.set(result.logprobs, begin);
        const mask = tokenIds.map((_, token) => (token >= begin ? 1 : 0));
        return { tokenIds, images: from.images, mask, advantages: 1 - index, oldLogprobs, temperature: 1 };
      }),
    );
  }

  async function disagreement(samples: TrainSample[]): Promise<number> {
    const found = await engine.logprobs(samples);
    const differences = samples.flatMap(({ mask, oldLogprobs }, row) =>
      Array.from(mask).map((kept, token) =>
        kept === 1 ? Math.abs(found[row][token] - oldLogprobs![token]) : 0,
      ),
    );
    return Math.max(...differences);
  }

  it('sampler and trainer agree, before and after a step that reaches the vision tower', async () => {
    const before = await sampled();
    expect(await disagreement(before)).toBeLessThan(1e-4);
    const loss = { name: 'importance_sampling', aggregation: 'token-mean' } as const;
    await engine.trainStep({ samples: before, loss, learningRate: 0.02, maxGradNorm: 1 });
    expect(await disagreement(before)).toBeGreaterThan(1e-3);
    expect(await disagreement(await sampled())).toBeLessThan(1e-4);
  });
});
