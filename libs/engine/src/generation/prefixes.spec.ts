import type { Engine, SampleResult } from '@ui-rl/plugin-kit';
import { asShownTogether } from '@ui-rl/models';
import { TestModel, train, type Prompt, type Sampled } from '../../test/test-model';

let model: TestModel;
afterEach(() => model.stop());

const words = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => 10 + ((first + 7 * i) % 150));

/** A prompt, continued by an answer, another image and more text. */
function nextTurn({ tokenIds, images }: Prompt, answer: readonly number[], turn: number): Prompt {
  const image = model.images[turn % model.images.length];
  const shown = model.showing([image], [...tokenIds, ...answer, ...words(turn, 5)], words(3 * turn, 4));
  return { ...shown, images: asShownTogether([...images, image]) };
}

/** Concurrent episodes in which each turn's prompt contains all previous turns. */
async function episodes(engine: Engine, turns: number, beginning = words(1, 20)): Promise<Sampled[]> {
  const play = async (episode: number): Promise<Sampled[]> => {
    const played: Sampled[] = [];
    let prompt = model.showing([model.images[0]], beginning, [5]);
    for (let turn = 1; turn <= turns; turn += 1) {
      const sampled = await model.sample(engine, prompt, {
        seed: 100 * episode + turn,
        maxTokens: 6 + episode,
      });
      played.push(sampled);
      prompt = nextTurn(prompt, sampled.tokens, turn + episode);
    }
    return played;
  };
  return (await Promise.all([0, 1, 2].map(play))).flat();
}

interface Counts {
  promptTokens: number;
  cachedPromptTokens: number;
  prefixHits: number;
  caches: { usedBytes: number; prefixes?: number };
}

async function counts(engine: Engine): Promise<Counts> {
  return (await engine.info()) as unknown as Counts;
}

describe.each(['qwen3-vl-a', 'qwen3-5-a', 'gemma3-a'])('prompts of %s that begin like others', (name) => {
  beforeAll(async () => (model = await TestModel.of(name, ['0.png', '1.png', '2.png'])));

  it('are read from there on, images included, and answered as if they were read whole', async () => {
    const changes = { maxSequence: 600, maxRows: 3 };
    const [sharing, plain] = [
      await model.start(changes),
      await model.start({ ...changes, cacheMemoryMb: 0 }),
    ];
    const [shared, whole] = [await episodes(sharing, 5), await episodes(plain, 5)];
    expect(shared.map(({ tokens }) => tokens)).toEqual(whole.map(({ tokens }) => tokens));
    expect(await model.disagreement(sharing, shared)).toBeLessThan(1e-4);
    const found = await counts(sharing);
    // All turns but the first of each episode.
    expect(found.prefixHits).toBeGreaterThanOrEqual(12);
    expect(found.cachedPromptTokens / found.promptTokens).toBeGreaterThan(0.6);
    expect(found.caches.usedBytes).toBeGreaterThan(0);
    expect(await counts(plain)).toMatchObject({ prefixHits: 0, caches: { usedBytes: 0 } });

    // Other weights compute other keys and values.
    for (const engine of [sharing, plain]) {
      await train(engine, model.lessons(), { learningRate: 5e-3 });
    }
    expect((await counts(sharing)).caches.prefixes ?? 0).toBe(0);
    const [after, wholeAfter] = [await episodes(sharing, 2), await episodes(plain, 2)];
    expect(after.map(({ tokens }) => tokens)).toEqual(wholeAfter.map(({ tokens }) => tokens));
    expect(after[0].tokens).not.toEqual(shared[0].tokens);
    expect(await model.disagreement(sharing, after)).toBeLessThan(1e-4);
  });

  it('are read from there on in a memory that holds few of them', async () => {
    const engine = await model.start({ maxSequence: 600, maxRows: 3, cacheMemoryMb: 1 });
    const sampled = await episodes(engine, 5);
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    const { caches } = await engine.info();
    expect((caches as { usedBytes: number }).usedBytes).toBeLessThanOrEqual(2 ** 20);
  });

  it('give the same bits in deterministic mode, whether they are shared or not', async () => {
    const changes = { maxSequence: 900, maxRows: 3, deterministic: true };
    const [sharing, plain] = [
      await model.start(changes),
      await model.start({ ...changes, cacheMemoryMb: 0 }),
    ];
    const beginning = words(1, 300);
    const shared = await episodes(sharing, 2, beginning);
    expect(shared).toEqual(await episodes(plain, 2, beginning));
    expect(await model.disagreement(sharing, shared)).toBeLessThan(1e-4);
    expect((await counts(sharing)).prefixHits).toBeGreaterThanOrEqual(3);
    const again: SampleResult[] = [];
    for (const engine of [sharing, plain]) again.push(await engine.sample(model.request(shared[0].prompt)));
    expect(again[0]).toEqual(again[1]);
  });
});
