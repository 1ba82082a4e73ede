import type { SampleClass } from '@ui-rl/plugin-kit';
import { CacheMemory } from '../caches/cache-memory';
import { PrefixCache } from '../caches/prefix-cache';
import { EngineError } from '../errors';
import { Generator } from './generator';
import type { GenerationResult } from './job';
import type { ProcessedImage } from '@ui-rl/models';
import type { NextTokens, TokenModel } from './token-model';
import type { ResolvedInput } from '../training/data';
import { HostKvCache } from '../kv-cache/host-kv-cache';
import { WeightSet } from '../weights/weight-set';

const VOCABULARY = 8;
const weights = new WeightSet(0, new Map());

/** Returns the successor of the last token, and has memory for caches of this many tokens. */
class Counting implements TokenModel {
  readonly vocabSize = VOCABULARY;
  readonly imageTokenId = 7;
  readonly stopTokenIds = new Set<number>();
  readonly forbiddenTokenIds = [7];
  readonly hasStates = false;
  readonly prefills: number[] = [];
  /** First and last token of each row of each prefill. */
  readonly parts: [from: number, until: number][] = [];

  constructor(
    private readonly memory: number,
    readonly wholeImages = false,
  ) {}

  grammar(): never {
    throw new Error('it knows no text');
  }

  newCache(maxLength: number): HostKvCache {
    if (maxLength > this.memory) throw new RangeError(`no memory for ${maxLength} tokens`);
    return new HostKvCache({ rows: 4, kvHeads: 1, headDim: 1, maxLength }, []);
  }

  nextPosition({ tokenIds }: ResolvedInput): number {
    return tokenIds.length;
  }

  prefill(...[, , , prompts]: Parameters<TokenModel['prefill']>): Promise<NextTokens> {
    this.prefills.push(prompts.length);
    this.parts.push(...prompts.map(({ cached, until }): [number, number] => [cached, until]));
    return Promise.resolve(after(prompts.map(({ prompt }) => Array.from(prompt.tokenIds).at(-1)!)));
  }

  decode(...[, , rows]: Parameters<TokenModel['decode']>): Promise<NextTokens> {
    return Promise.resolve(after(rows.map(({ tokenId }) => tokenId)));
  }
}

function after(tokens: readonly number[]): NextTokens {
  const probabilities = new Float32Array(tokens.length * VOCABULARY);
  tokens.forEach((token, row) => (probabilities[row * VOCABULARY + ((token + 1) % VOCABULARY)] = 1));
  return { probabilities };
}

/** A generator and the model that it queries. */
class Asked {
  readonly generator = new Generator(
    { maxRows: 4, maxSequence: 1000, deterministic: false, prefillTokens: 64 },
    new PrefixCache(new CacheMemory(2 ** 20)),
  );

  constructor(readonly model: Counting) {}

  ask(tokenIds: number[], maxTokens: number): Promise<number[]> {
    const request = { prompt: { tokenIds, images: [] }, maxTokens, temperature: 0, topP: 1, seed: 0 };
    return this.generator.generate(this.model, weights, request).then(({ tokens }) => tokens);
  }
}

test('a request without memory for its cache is rejected, alone, and generation continues', async () => {
  const asked = new Asked(new Counting(64));
  await expect(asked.ask([1, 2], 500)).rejects.toThrow('no memory for 512 tokens');
  expect(await asked.ask([1, 2], 3)).toEqual([3, 4, 5]);
});

test('the prompt of several samples is read once, in any order of the samples', async () => {
  const model = new Counting(64);
  const asked = new Asked(model);
  const answers = [asked.ask([1, 2], 3), asked.ask([4, 4], 2), asked.ask([1, 2], 5), asked.ask([1, 2], 2)];
  expect(await Promise.all(answers)).toEqual([
    [3, 4, 5],
    [5, 6],
    [3, 4, 5, 6, 0],
    [3, 4],
  ]);
  expect(model.prefills).toEqual([2]);
  expect(asked.generator.counts.sharedPrompts).toBe(2);
});

test('prompts that no row can pass on are read together: answers of one token, and those after a placeholder', async () => {
  const model = new Counting(64);
  const asked = new Asked(model);
  const single = Promise.all([1, 2, 3].map(() => asked.ask([1, 2], 1)));
  expect(await single).toEqual([[3], [3], [3]]);
  const placeholder = Promise.all([1, 2].map(() => asked.ask([5, 7], 2)));
  expect(await placeholder).toEqual([
    [0, 1],
    [0, 1],
  ]);
  expect(model.prefills).toEqual([3, 2]);
  expect(asked.generator.counts.sharedPrompts).toBe(0);
});

test('a model that gives NaN is refused by name, whichever way a token is chosen, and leaves no row behind', async () => {
  const asked = new Asked(new Counting(64));
  const prefill = jest
    .spyOn(asked.model, 'prefill')
    .mockResolvedValue({ probabilities: new Float32Array(VOCABULARY).fill(Number.NaN) });
  await expect(asked.ask([1, 2], 3)).rejects.toThrow('its weights are not finite');
  expect(asked.generator.rowsActive).toBe(0);
  prefill.mockRestore();
  expect(await asked.ask([1, 2], 3)).toEqual([3, 4, 5]);
});

test('an aborted request gives up its row, or its place in the queue', async () => {
  const asked = new Asked(new Counting(1024));
  const request = {
    prompt: { tokenIds: [1, 2], images: [] },
    maxTokens: 900,
    temperature: 0,
    topP: 1,
    seed: 0,
  };
  const callers = Array.from({ length: 6 }, () => new AbortController());
  const { generator, model } = asked;
  const answers = callers.map(({ signal }) =>
    generator.generate(model, weights, request, signal).catch((error: Error) => error.message),
  );
  while (generator.counts.generatedTokens < 20) await generator.share(0.01);
  expect([generator.rowsActive, generator.rowsWaiting]).toEqual([4, 2]);
  for (const caller of callers.slice(1)) caller.abort();
  expect(await Promise.all(answers.slice(1))).toEqual(
    Array(5).fill('the caller no longer waits for the sample'),
  );
  expect(generator.rowsWaiting).toBe(0);
  expect(await asked.ask([4, 4], 3)).toEqual([5, 6, 0]);
  expect(generator.rowsActive).toBe(1);
  callers[0].abort();
  await answers[0];
  await generator.share(1e3);
  expect(generator.rowsActive).toBe(0);
  const late = new AbortController();
  late.abort();
  await expect(generator.generate(model, weights, request, late.signal)).rejects.toThrow('no longer waits');
});

test('evaluation does not wait until training has no more requests', async () => {
  const asked = new Asked(new Counting(64));
  const ended: string[] = [];
  const ask = (of: SampleClass): Promise<unknown> => {
    const request = {
      prompt: { tokenIds: [1, 2], images: [] },
      maxTokens: 5,
      temperature: 0,
      topP: 1,
      seed: 0,
    };
    return asked.generator
      .generate(asked.model, weights, { ...request, class: of })
      .then(() => ended.push(of));
  };
  const all = [...Array(30).fill('training'), ...Array(10).fill('evaluation')] as SampleClass[];
  await Promise.all(all.map(ask));
  const place = ended.lastIndexOf('evaluation');
  expect(place).toBeGreaterThan(20);
  expect(place).toBeLessThan(35);
  expect(ended.slice(0, 12).filter((of) => of === 'evaluation').length).toBeGreaterThanOrEqual(3);
});

test('stopping rejects what is generated and what waits, and all that comes', async () => {
  const asked = new Asked(new Counting(1024));
  const answers = Array.from({ length: 6 }, (_, first) =>
    asked.ask([first, 2], 900).catch((error: Error) => error),
  );
  await asked.generator.share(0.01);
  const reason = new EngineError('worker', 'the end');
  await asked.generator.stop(reason);
  expect(await Promise.all(answers)).toEqual(answers.map(() => reason));
  await expect(asked.ask([1], 1)).rejects.toBe(reason);
  expect([asked.generator.rowsActive, asked.generator.rowsWaiting]).toEqual([0, 0]);
});

/** Returns the token that exceeds the last one by the version of the weights. */
class Stepping extends Counting {
  /** Number of prefills, by weights version. */
  readonly read: number[] = [];

  override prefill(...[{ version }, , , prompts]: Parameters<TokenModel['prefill']>): Promise<NextTokens> {
    this.read.push(...prompts.map(() => version));
    return Promise.resolve(
      stepped(
        prompts.map(({ prompt }) => Array.from(prompt.tokenIds).at(-1)!),
        version,
      ),
    );
  }

  override async decode(...[{ version }, , rows]: Parameters<TokenModel['decode']>): Promise<NextTokens> {
    // As slow as a pass, so that other work can run in between.
    await new Promise((resolve) => setImmediate(resolve));
    return stepped(
      rows.map(({ tokenId }) => tokenId),
      version,
    );
  }
}

/** Never 7, which is forbidden. */
function stepped(tokens: readonly number[], by: number): NextTokens {
  return after(tokens.map((token) => ((token + by) % 7) - 1).map((token) => (token < 0 ? 7 : token)));
}

describe('weights that change while answers are generated', () => {
  const named = (version: number): WeightSet => {
    const data = Float32Array.of(version);
    return new WeightSet(version, new Map([['w', { shape: [1], data }]]));
  };

  function askWith(
    asked: Asked,
    own: WeightSet,
    movable: boolean,
    maxTokens = 100,
  ): Promise<GenerationResult> {
    const request = {
      prompt: { tokenIds: [1, 2], images: [] },
      maxTokens,
      temperature: 0,
      topP: 1,
      seed: 0,
      movable,
    };
    return asked.generator.generate(asked.model, own, request);
  }

  /** Differences between consecutive tokens, modulo the seven that exist. */
  const steps = (tokens: readonly number[]): number[] =>
    tokens.map((token, index) => (token - (index === 0 ? 2 : tokens[index - 1]) + 7) % 7);

  it('apply to each token, and change only samples that may be moved', async () => {
    const model = new Stepping(256);
    const asked = new Asked(model);
    const [one, two, three] = [named(1), named(2), named(3)];
    const [moved, pinned] = [askWith(asked, one, true), askWith(asked, one, false)];
    await asked.generator.share(0.01);
    await asked.generator.move(one, two);
    expect(asked.generator.uses(one)).toBe(true);
    // Its prompt was prefilled by other weights, so the next request prefills it again.
    const later = askWith(asked, two, true, 60);
    while (model.read.length < 3) await asked.generator.share(0.01);
    // Twice before the next pass.
    const between = named(9);
    await Promise.all([asked.generator.move(two, between), asked.generator.move(between, three)]);
    const { spans = [], ...result } = await moved;
    expect(spans.map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(spans.map(({ digest }) => digest)).toEqual([one, two, three].map(({ digest }) => digest));
    expect(spans.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(100);
    expect(steps(result.tokens)).toEqual(
      spans.flatMap(({ version, tokens }) => new Array<number>(tokens).fill(version)),
    );
    expect(result).toMatchObject({ version: 1, digest: one.digest });
    const still = await pinned;
    expect(still.spans).toBeUndefined();
    expect(new Set(steps(still.tokens))).toEqual(new Set([1]));
    expect((await later).version).toBe(2);
    expect(model.read).toEqual([1, 1, 2]);
    // Returns when there is nothing to generate.
    await asked.generator.share(60_000);
    expect(asked.generator.uses(one)).toBe(false);
  });

  it('changes nothing when there are no samples', async () => {
    const asked = new Asked(new Stepping(256));
    await asked.generator.move(named(1), named(2));
    expect((await askWith(asked, named(2), true, 3)).spans).toBeUndefined();
  });
});

test('a row without a next token ends alone, in the middle of others', async () => {
  const asked = new Asked(new Counting(64));
  const decode = asked.model.decode.bind(asked.model);
  jest.spyOn(asked.model, 'decode').mockImplementation(async (...given) => {
    const next = await decode(...given);
    given[2].forEach(({ tokenId }, row) => {
      if (tokenId === 5) next.probabilities.fill(Number.NaN, row * VOCABULARY, (row + 1) * VOCABULARY);
    });
    return next;
  });
  const [failing, first, second] = [asked.ask([1, 4], 3), asked.ask([1, 0], 3), asked.ask([2, 0], 4)];
  await expect(failing).rejects.toThrow('its weights are not finite');
  expect(await Promise.all([first, second])).toEqual([
    [1, 2, 3],
    [1, 2, 3, 4],
  ]);
  expect(asked.generator.rowsActive).toBe(0);
});

describe('a model whose images must be read whole', () => {
  const image = (key: string, tokens: number): ProcessedImage => ({ key, tokens }) as ProcessedImage;
  const placeholders = (count: number): number[] => new Array<number>(count).fill(7);
  const text = (count: number): number[] => new Array<number>(count).fill(1);

  async function generate(deterministic: boolean, prompts: readonly ResolvedInput[]): Promise<Counting> {
    const options = { maxRows: 4, maxSequence: 40_000, deterministic, prefillTokens: 2048 };
    const prefixes = new PrefixCache(new CacheMemory(2 ** 20));
    const model = new Counting(40_000, true);
    const generator = new Generator(options, prefixes);
    for (const prompt of prompts) {
      await generator.generate(model, weights, { prompt, maxTokens: 1, temperature: 0, topP: 1, seed: 0 });
    }
    return model;
  }

  test('reads parts that end after an image, however long images are', async () => {
    const images = [image('a', 30), image('b', 300), image('c', 600), image('d', 1)];
    const tokenIds = Int32Array.from([
      ...[...text(240), ...placeholders(30)],
      ...[...text(256), ...placeholders(300)],
      ...[...text(1), ...placeholders(600)],
      ...[...text(50), ...placeholders(1), ...text(300)],
    ]);
    const { parts } = await generate(true, [{ tokenIds, images }]);
    expect(parts).toEqual([
      [0, 270],
      [270, 526],
      [526, 826],
      [826, 1427],
      [1427, 1683],
      [1683, tokenIds.length],
    ]);
  });

  test('reads the rest of a long prompt in parts, each with whole images', async () => {
    // Parts of 209 tokens, for a prompt of 20000: the first one would end within the image.
    const first = text(20);
    const tokenIds = [...first, ...text(200), ...placeholders(40), ...text(19_740)];
    const prompts = [{ tokenIds: Int32Array.from([...first, 2]), images: [] }];
    const { parts } = await generate(false, [
      ...prompts,
      { tokenIds: Int32Array.from(tokenIds), images: [image('a', 40)] },
    ]);
    expect(parts.slice(0, 4)).toEqual([
      [0, 21],
      [20, 260],
      [260, 469],
      [469, 678],
    ]);
    expect(parts.at(-1)?.[1]).toBe(20_000);
  });
});
