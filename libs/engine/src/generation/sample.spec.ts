import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, SampleRequest, SampleResult, TrainedModel } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { eventually } from '@ui-rl/testkit';
import {
  adapter,
  allWeights,
  fixtures,
  importanceSampling,
  scratchFolder,
  TestModel,
  train,
  type Prompt,
  type Sampled,
} from '../../test/test-model';

const fixture = join(fixtures, 'qwen3-vl-a');

let model: TestModel;
const scratch = scratchFolder('sample');
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a', ['0.png', '1.png', '2.png'])));
afterEach(() => model.stop());

function sample(engine: Engine, index: number, changes: Partial<SampleRequest> = {}): Promise<SampleResult> {
  const usual = { maxTokens: 6 + index, seed: 100 + index };
  return engine.sample(model.request(model.prompt(index), { ...usual, ...changes }));
}

describe('sampling', () => {
  it('decodes the reference implementation’s greedy tokens', async () => {
    const expected = JSON.parse(await readFile(join(fixture, 'expected.json'), 'utf8')) as {
      prompt_ids: number[];
      greedy_ids: number[];
    };
    const engine = await model.start({ maxSequence: 256 });
    const prompt: Prompt = { tokenIds: expected.prompt_ids, images: [...model.images] };
    const maxTokens = expected.greedy_ids.length;
    const { tokens, stopReason } = await engine.sample(model.request(prompt, { maxTokens, temperature: 0 }));
    expect(tokens).toEqual(expected.greedy_ids.slice(0, tokens.length));
    expect(tokens.length === maxTokens || stopReason === 'stop').toBe(true);
  });

  it.each<[string, TrainedModel]>([
    ['all weights', allWeights],
    ['an adapter', adapter()],
    ['an adapter that reaches the vision tower', adapter({ vision: true })],
  ])(
    'gives the log-probabilities the trainer computes, with %s, before and after a step',
    async (_name, description) => {
      const engine = await model.start({ models: [description] });
      // More requests than rows, with zero to three images, at several temperatures.
      const sampleAll = (): Promise<Sampled[]> =>
        Promise.all(
          [0, 1, 2, 3, 4, 5, 6].map((index) => {
            const changes = {
              maxTokens: 6 + index,
              seed: 100 + index,
              temperature: [1, 0.7, 0, 1.5][index % 4],
            };
            return model.sample(engine, model.prompt(index, index % 4), changes);
          }),
        );
      const before = await sampleAll();
      expect(await model.disagreement(engine, before)).toBeLessThan(1e-4);
      const data = model.sampledData(before, (index) => (index % 2 === 0 ? 1 : -1));
      await train(engine, data, { loss: importanceSampling, learningRate: 5e-3 });
      const after = await sampleAll();
      expect(after.map(({ tokens }) => tokens)).not.toEqual(before.map(({ tokens }) => tokens));
      expect(await model.disagreement(engine, after)).toBeLessThan(1e-4);
    },
  );

  it('reads a prompt once for the samples of a group, and samples as if it were read for each', async () => {
    const own = await TestModel.in(model.folder.dir, [
      ...['0.png', '1.png', '2.png'].map((file) => readFileSync(join(fixture, 'images', file))),
      await sharp(join(fixture, 'images', '0.png'))
        .negate({ alpha: false })
        .png()
        .toBuffer(),
    ]);
    const engine = await model.start({ maxRows: 6, fetchImage: own.fetchImage });
    const [first, second, , negative] = own.images;
    const prompt = own.showing([first, second], [10, 17, 24], [5]);
    const one = (seed: number, maxTokens = 8): Promise<Sampled> =>
      own.sample(engine, prompt, { seed, maxTokens });
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const alone: Sampled[] = [];
    for (const seed of seeds) alone.push(await one(seed));
    expect((await engine.info()).sharedPrompts).toBe(0);
    const group = seeds.map((seed) => one(seed, 4 + (seed % 5)));
    // Other requests in between, one with the same text and a different picture of the same size.
    const like = own.sample(engine, own.showing([negative, second], [10, 17, 24], [5]), {
      seed: 1,
      maxTokens: 8,
    });
    const others = [own.sample(engine, own.prompt(1)), like];
    const together = await Promise.all(group);
    await Promise.all(others);
    expect((await like).logprobs[0]).not.toBe(alone[0].logprobs[0]);
    together.forEach(({ tokens, logprobs }, index) => {
      expect(tokens).toEqual(alone[index].tokens.slice(0, tokens.length));
      logprobs.forEach((logprob, token) => expect(logprob).toBeCloseTo(alone[index].logprobs[token], 4));
    });
    expect((await engine.info()).sharedPrompts).toBeGreaterThanOrEqual(5);
    expect(await own.disagreement(engine, together)).toBeLessThan(1e-4);
  });

  it('in deterministic mode gives the same bits with any neighbours and in any order', async () => {
    const engine = await model.start({ deterministic: true });
    const alone: SampleResult[] = [];
    for (const index of [0, 1, 2, 3, 4, 5]) alone.push(await sample(engine, index));
    const together = await Promise.all([5, 3, 1, 0, 2, 4].map((index) => sample(engine, index)));
    [5, 3, 1, 0, 2, 4].forEach((index, place) => expect(together[place]).toEqual(alone[index]));
    const other = await model.start({ deterministic: true });
    expect(await sample(other, 4)).toEqual(alone[4]);
  });

  it('continues with other weights between two tokens if allowed, and says which weights sampled each token', async () => {
    const engine = await model.start({ models: [adapter()], maxSequence: 256 });
    const [changes, dir] = [{ model: 'begin', maxTokens: 120, seed: 4 }, join(scratch, 'state')];
    await engine.saveWeightsForSampler({ model: 'policy', name: 'begin' });
    await engine.saveState({ model: 'policy', dir });
    await engine.saveWeightsForSampler({ model: 'policy', name: 'same', dir });
    const request = { ...model.request(model.prompt(1), changes), movable: true };
    const alone = await engine.sample({ ...request, movable: false });
    await train(engine, [model.datum(model.prompt(1), [20, 30])], { learningRate: 0.05 });
    const { digest } = await engine.saveWeightsForSampler({ model: 'policy', name: 'next' });
    const moved = async (to: string): Promise<SampleResult> => {
      const { generatedTokens: before } = await engine.info();
      const sampling = engine.sample(request);
      await eventually(
        'a few tokens',
        async () => Number((await engine.info()).generatedTokens) > Number(before) + 3,
        10_000,
        1,
      );
      await engine.moveSamples({ from: 'begin', to });
      return sampling;
    };
    // Keys and values of earlier tokens stay, so switching to equal weights changes nothing.
    expect(await moved('same')).toEqual(alone);
    const { spans = [], tokens, logprobs } = await moved('next');
    expect(spans.map((span) => span.digest)).toEqual([alone.digest, digest]);
    const [{ tokens: first }, { tokens: second }] = spans;
    expect(first + second).toBe(tokens.length);
    expect(tokens.slice(0, first)).toEqual(alone.tokens.slice(0, first));
    expect(logprobs.slice(0, first)).toEqual(alone.logprobs.slice(0, first));
    expect(tokens).not.toEqual(alone.tokens);
    await expect(engine.moveSamples({ from: 'begin', to: 'base' })).rejects.toThrow('another model');
  });

  it('ends at stop tokens, at the limit, and where the sequence is full', async () => {
    const engine = await model.start({ maxSequence: model.prompt(1).tokenIds.length + 4 });
    const full = await sample(engine, 1, { maxTokens: 50 });
    expect(full.stopReason).toBe('length');
    expect(full.tokens).toHaveLength(4);
    const stopped = await sample(engine, 1, { maxTokens: 50, stop: [full.tokens[1]] });
    expect(stopped.stopReason).toBe('stop');
    expect(stopped.tokens).toEqual(full.tokens.slice(0, 2));
    expect((await sample(engine, 1, { maxTokens: 2 })).tokens).toEqual(full.tokens.slice(0, 2));
  });

  it('gives up aborted requests', async () => {
    const engine = await model.start({ maxSequence: 4000, maxRows: 1 });
    const caller = new AbortController();
    // No token ends it earlier.
    const endless = { maxTokens: 3900, grammar: 'a{1000}', signal: caller.signal };
    const answers = [1, 2].map((index) =>
      sample(engine, index, endless).catch((error: Error) => error.message),
    );
    while ((await engine.info()).rowsActive !== 1);
    caller.abort(new Error('the caller is gone'));
    expect(await Promise.all(answers)).toEqual(['the caller is gone', 'the caller is gone']);
    expect((await sample(engine, 1, { maxTokens: 2 })).tokens).toHaveLength(2);
    expect(await engine.info()).toMatchObject({ rowsActive: 0, rowsWaiting: 0 });
    await expect(sample(engine, 1, endless)).rejects.toThrow('the caller is gone');
  });

  it('refuses what it cannot do, says why, and continues', async () => {
    const engine = await model.start({ maxSequence: 12 });
    const { imageTokenId } = model.folder.family.shape;
    const saying = (...tokens: number[]) => ({ prompt: { chunks: [{ type: 'text', tokens } as const] } });
    const long = saying(...new Array<number>(12).fill(5));
    await expect(sample(engine, 0, long)).rejects.toThrow('the prompt has 12 tokens');
    await expect(sample(engine, 0, saying(5, imageTokenId))).rejects.toThrow('placeholder');
    await expect(sample(engine, 0, { model: 'absent' })).rejects.toThrow('there is no model "absent"');
    await expect(sample(engine, 0, { ...saying(1), topP: 0 })).rejects.toThrow('topP is 0');
    expect((await sample(engine, 0, { ...saying(5, 6), maxTokens: 1 })).tokens).toHaveLength(1);
  });
});
