import type { SampleRequest } from '@ui-rl/plugin-kit';
import { adapter, TestModel, train, trained, type Sampled } from '../../test/test-model';

let model: TestModel;
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

const CUTS: Partial<SampleRequest>[] = [
  { topP: 0.7 },
  { topK: 5 },
  { topP: 0.5, topK: 40, temperature: 1.5 },
  { topP: 0.9, temperature: 0.7 },
  {},
  { topK: 1 },
];

describe('distributions that are cut', () => {
  it.each([['auto' as const], ['on' as const]])(
    'are trained as they were sampled, before and after a step (gradient checkpointing %s)',
    async (gradientCheckpointing) => {
      const engine = await model.start({ models: [adapter()], gradientCheckpointing });
      const sampleAll = (): Promise<Sampled[]> =>
        Promise.all(
          CUTS.map((cut, index) =>
            model.sample(engine, model.prompt(index, index % 3), { maxTokens: 6, ...cut }),
          ),
        );
      const before = await sampleAll();
      expect(before.map(({ keptTokens }) => keptTokens !== undefined)).toEqual(
        CUTS.map(({ topP, topK }) => topP !== undefined || topK !== undefined),
      );
      for (const { tokens, keptTokens } of before) {
        tokens.forEach((token, place) => {
          if (keptTokens !== undefined) expect(Array.from(keptTokens[place])).toContain(token);
        });
      }
      expect(await model.disagreement(engine, before)).toBeLessThan(1e-5);
      // Without the kept tokens, the trainer would compare with another distribution.
      const whole = before.map(({ keptTokens: _, ...sampled }) => sampled);
      expect(await model.disagreement(engine, whole)).toBeGreaterThan(0.1);
      await train(
        engine,
        model.sampledData(before, (index) => (index % 2 === 0 ? 1 : -1)),
        {
          loss: { name: 'importance_sampling' },
          learningRate: 5e-3,
        },
      );
      expect(await model.disagreement(engine, await sampleAll())).toBeLessThan(1e-5);
    },
  );

  it('learn by the gradient of what was kept: a small step lowers the loss by its squared norm', async () => {
    const engine = await model.start();
    const sampled = await Promise.all(
      CUTS.map((cut, index) => model.sample(engine, model.prompt(index), { maxTokens: 6, ...cut })),
    );
    const data = model.sampledData(sampled, () => 0);
    const lossOf = async (): Promise<number> => {
      const { logprobs } = await engine.forward({ model: 'policy', data });
      const all = logprobs.flatMap(trained);
      return -all.reduce((sum, logprob) => sum + logprob, 0) / all.length;
    };
    const before = await lossOf();
    const learningRate = 2e-4;
    const { loss, gradNorm } = await train(engine, data, {
      optimizer: { name: 'sgd', momentum: 0 },
      learningRate,
      maxGradNorm: 0,
    });
    expect(loss).toBeCloseTo(before, 4);
    expect((before - (await lossOf())) / (learningRate * gradNorm ** 2)).toBeCloseTo(1, 1);
  });

  it('are those of a grammar, whose answers match it, trained as they were sampled', async () => {
    const { tokenizer } = model.folder;
    const engine = await model.start({ models: [adapter()], maxSequence: 400 });
    const grammar = String.raw`\{"action":"(?:click|move)","x":[0-9]{1,2},"y":[0-9]{1,2}\}|\{"action":"finish","success":(?:true|false)\}`;
    const sampleAll = (): Promise<Sampled[]> =>
      Promise.all(
        [0, 1, 2, 3, 4, 5].map((index) =>
          model.sample(engine, model.prompt(index, index % 3), {
            maxTokens: 120,
            seed: index,
            grammar,
            temperature: [1, 0, 1.5][index % 3],
            ...(index === 3 ? { topK: 2 } : {}),
          }),
        ),
      );
    const sampled = await sampleAll();
    for (const { tokens } of sampled) {
      const text = tokenizer.decode(tokens, { skipSpecialTokens: true });
      expect(text).toMatch(new RegExp(`^(?:${grammar})$`, 'u'));
    }
    expect(await model.disagreement(engine, sampled)).toBeLessThan(1e-4);
    await train(
      engine,
      model.sampledData(sampled, (index) => (index % 2 === 0 ? 1 : -1)),
      {
        loss: { name: 'importance_sampling' },
        learningRate: 5e-3,
      },
    );
    expect(await model.disagreement(engine, await sampleAll())).toBeLessThan(1e-4);
    const unknown = model.request(model.prompt(0), { grammar: '(' });
    await expect(engine.sample(unknown)).rejects.toThrow('the grammar cannot be read');
  });

  it('are refused where what was kept is not there for every position', async () => {
    const engine = await model.start();
    const [datum] = model.lessons();
    await expect(
      engine.forward({ model: 'policy', data: [{ ...datum, keptTokens: [[1]] }] }),
    ).rejects.toThrow('keptTokens');
    const request = model.request(model.prompt(0), { topK: -1 });
    await expect(engine.sample(request)).rejects.toThrow('topK is -1');
  });
});
