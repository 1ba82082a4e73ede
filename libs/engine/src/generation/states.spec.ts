import type { Engine } from '@ui-rl/plugin-kit';
import { TestModel, type Prompt, type Sampled } from '../../test/test-model';

let model: TestModel;
beforeAll(async () => (model = await TestModel.of('qwen3-5-a', ['0.png', '1.png', '2.png'])));
afterEach(() => model.stop());

/** A prompt of the given length with an image in its middle. */
function prompt(length: number, first = 1): Prompt {
  const words = Array.from({ length }, (_, i) => 10 + ((first + 7 * i) % 150));
  return model.showing([model.images[first % 3]], words.slice(0, length / 2), words.slice(length / 2));
}

/** Samples of each prompt, all requested at once, with answers of different lengths. */
function groups(engine: Engine, prompts: readonly Prompt[], size: number): Promise<Sampled[]> {
  return Promise.all(
    prompts.flatMap((each, group) =>
      Array.from({ length: size }, (_, i) =>
        model.sample(engine, each, { seed: 100 * group + i, maxTokens: 3 + ((5 * i + group) % 9) }),
      ),
    ),
  );
}

interface Counts {
  prefixHits: number;
  cachedPromptTokens: number;
  promptTokens: number;
}

async function counts(engine: Engine): Promise<Counts> {
  return (await engine.info()) as unknown as Counts;
}

const texts = (sampled: readonly Sampled[]): number[][] => sampled.map(({ tokens }) => tokens);

describe('rows that remember states', () => {
  it('answer as the trainer reads them, in batches that rows of other lengths join and leave', async () => {
    const engine = await model.start({ maxRows: 3 });
    const sampled = await groups(engine, [prompt(20), prompt(70, 2), prompt(34, 3)], 4);
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    const alone = await model.start({ maxRows: 1, cacheMemoryMb: 0 });
    expect(texts(await groups(alone, [prompt(20), prompt(70, 2), prompt(34, 3)], 4))).toEqual(texts(sampled));
  });

  it('of a group read their prompt once, and its end for each', async () => {
    const engine = await model.start({ maxRows: 4 });
    const asked = prompt(80);
    const sampled = await groups(engine, [asked], 8);
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    const { prefixHits, cachedPromptTokens, promptTokens } = await counts(engine);
    const { length } = asked.tokenIds;
    expect(prefixHits).toBe(7);
    expect(cachedPromptTokens).toBe(7 * (length - 16));
    expect(promptTokens).toBe(8 * length);
    const plain = await model.start({ maxRows: 4, cacheMemoryMb: 0 });
    expect(texts(await groups(plain, [asked], 8))).toEqual(texts(sampled));
    expect((await counts(plain)).prefixHits).toBe(0);
  });

  it('of prompts with the same beginning and another end continue from their own states alone', async () => {
    const engine = await model.start({ maxRows: 2 });
    const first = prompt(80);
    const { tokenIds, images } = first;
    const others = [4, 12, 20, 34].map((back) => ({
      tokenIds: [...tokenIds.slice(0, -back), ...tokenIds.slice(-back).map((id) => (id === 30 ? 31 : 30))],
      images,
    }));
    const sampled: Sampled[] = [];
    for (const each of [first, ...others, first]) sampled.push(await model.sample(engine, each));
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    // Prompts that differ within the last tokens, and the first one again.
    expect((await counts(engine)).prefixHits).toBe(3);
  });
});
