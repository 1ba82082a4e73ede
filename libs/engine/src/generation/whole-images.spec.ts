import type { Engine } from '@ui-rl/plugin-kit';
import { TestModel, type Prompt, type Sampled } from '../../test/test-model';
import { DETERMINISTIC_PART } from './reading';

/** The tokens of an image attend to each other: no pass may read a part of one. */
let model: TestModel;
beforeAll(async () => (model = await TestModel.of('gemma3-a', ['0.png', '1.png', '2.png'])));
afterEach(() => model.stop());

const words = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => 10 + ((first + 7 * i) % 150));

/** A prompt whose image begins at a place, with a unique first token. */
function imageAt(place: number, first: number): Prompt {
  return model.showing([model.images[first % 3]], words(first, place - 1), words(2 * first, 9));
}

async function inTurn(engine: Engine, prompts: readonly Prompt[], maxTokens = 3): Promise<Sampled[]> {
  const sampled: Sampled[] = [];
  for (const prompt of prompts) sampled.push(await model.sample(engine, prompt, { maxTokens }));
  return sampled;
}

const texts = (sampled: readonly Sampled[]): number[][] => sampled.map(({ tokens }) => tokens);

async function cachedTokens(engine: Engine): Promise<number> {
  return ((await engine.info()) as unknown as { cachedPromptTokens: number }).cachedPromptTokens;
}

describe('prompts whose images must be read whole', () => {
  const options = { maxSequence: 600, maxRows: 3 };

  it('are read in parts that end before or after an image, wherever it is', async () => {
    const [whole, deterministic, sharing] = [
      await model.start({ ...options, cacheMemoryMb: 0 }),
      await model.start({ ...options, cacheMemoryMb: 0, deterministic: true }),
      await model.start({ ...options, deterministic: true }),
    ];
    const { tokens } = model.images[0];
    const prompts = Array.from({ length: tokens + 3 }, (_, i) => imageAt(DETERMINISTIC_PART + 1 - i, i));
    const expected = await inTurn(whole, prompts);
    const parts = await inTurn(deterministic, prompts);
    expect(texts(parts)).toEqual(texts(expected));
    expect(await model.disagreement(deterministic, parts)).toBeLessThan(1e-4);
    // Twice: the second time, whole parts are known.
    for (const _ of [1, 2]) expect(await inTurn(sharing, prompts)).toEqual(parts);
    const known = await cachedTokens(sharing);
    expect(known).toBeGreaterThanOrEqual(prompts.length * (DETERMINISTIC_PART - tokens));
  });

  it('are read in parts if images follow each other closely', async () => {
    const images = Array.from({ length: 24 }, (_, i) => model.images[i % 3]);
    const prompts = [1, 2, 3].map((first) => model.showing(images, words(first, first), words(first, 4)));
    const whole = await inTurn(await model.start({ ...options, cacheMemoryMb: 0 }), prompts);
    const deterministic = await model.start({ ...options, deterministic: true });
    const parts = await inTurn(deterministic, prompts);
    expect(texts(parts)).toEqual(texts(whole));
    expect(await model.disagreement(deterministic, parts)).toBeLessThan(1e-4);
    expect(await inTurn(deterministic, prompts)).toEqual(parts);
  });

  it('continue a known beginning at every place outside an image', async () => {
    const [sharing, alone] = [
      await model.start(options),
      await model.start({ ...options, cacheMemoryMb: 0 }),
    ];
    const asked = model.showing([model.images[0], model.images[1]], words(1, 18), words(5, 6));
    const { tokenIds } = asked;
    const { imageTokenId } = model.folder.family.shape;
    const isCut = (place: number): boolean =>
      tokenIds[place - 1] !== imageTokenId || tokenIds[place] !== imageTokenId;
    const cuts = tokenIds.map((_, place) => place).filter((place) => place >= 16 && isCut(place));
    // The first token keeps the prompts of different cuts apart.
    const from = (cut: number): Prompt => ({ ...asked, tokenIds: [100 + cut, ...tokenIds.slice(1)] });
    const before = (cut: number): Prompt => {
      const kept = from(cut).tokenIds.slice(0, cut);
      const shown = kept.filter((id, i) => id === imageTokenId && kept[i - 1] !== imageTokenId).length;
      return { tokenIds: [...kept, 3, 4], images: asked.images.slice(0, shown) };
    };
    const sampled: Sampled[] = [];
    for (const cut of cuts) {
      await model.sample(sharing, before(cut), { maxTokens: 1 });
      const known = await cachedTokens(sharing);
      sampled.push(await model.sample(sharing, from(cut)));
      expect([cut, (await cachedTokens(sharing)) - known]).toEqual([cut, cut]);
    }
    expect(cuts.length).toBeGreaterThan(10);
    expect(texts(sampled)).toEqual(texts(await inTurn(alone, cuts.map(from), 6)));
    expect(await model.disagreement(sharing, sampled)).toBeLessThan(1e-4);
  });

  it('continue before an image that ends the prompt', async () => {
    const engine = await model.start(options);
    const { tokenIds, images } = model.showing([model.images[0]], words(1, 18), []);
    const ending = { tokenIds: tokenIds.slice(0, -1), images };
    const sampled = await inTurn(engine, [ending, ending]);
    expect(texts(sampled)[0]).toEqual(texts(sampled)[1]);
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    expect(await cachedTokens(engine)).toBe(ending.tokenIds.length - model.images[0].tokens);
  });

  it('are read in batches of rows with other lengths and other images', async () => {
    const [engine, alone] = [
      await model.start({ ...options, maxRows: 4 }),
      await model.start({ ...options, maxRows: 1, cacheMemoryMb: 0 }),
    ];
    const prompts = [0, 1, 2, 3, 1, 2].map((images, i) =>
      model.showing(
        Array.from({ length: images }, (_, n) => model.images[(i + n) % 3]),
        words(1, 17 + 5 * i),
        words(i, 4),
      ),
    );
    const ask = (by: Engine): Promise<Sampled[]> =>
      Promise.all(
        prompts.flatMap((prompt, i) =>
          [0, 1, 2].map((n) =>
            model.sample(by, prompt, { seed: 10 * i + n, maxTokens: 2 + ((3 * i + n) % 7) }),
          ),
        ),
      );
    const first = await ask(engine);
    expect(texts(first)).toEqual(texts(await ask(alone)));
    expect(await model.disagreement(engine, first)).toBeLessThan(1e-4);
    expect(texts(await ask(engine))).toEqual(texts(first));
  });
});
