import { adapter, crossEntropy, scores, step, TestModel } from '../../test/test-model';
import { planPasses } from './packs';

const IMAGE = 99;
const family = { packStep: 1, shape: { imageTokenId: IMAGE }, imageTokens: () => 2 };

/** A sequence that predicts its last tokens. */
function sequence(prompt: readonly number[], answer: readonly number[], ...images: string[]) {
  const tokenIds = [...prompt, ...answer.slice(0, -1)];
  return {
    tokenIds,
    images: images.map((key) => ({ key, grid: [1, 2, 2] })),
    weights: tokenIds.map((_, place) => Number(place >= prompt.length - 1)),
  };
}

function plan(sequences: ReturnType<typeof sequence>[], changes: object = {}) {
  return planPasses(
    { ...family, ...changes } as unknown as Parameters<typeof planPasses>[0],
    sequences as unknown as Parameters<typeof planPasses>[1],
    { limits: {} },
  );
}

describe('sequences with the same prompt', () => {
  const prompt = [1, IMAGE, IMAGE, 2, 3, 4, 5, 6];

  it('are packed in one row, up to the last token of the prompt', () => {
    const three = [sequence(prompt, [7, 8], 'a'), sequence([1, 2, 3], [9]), sequence(prompt, [7, 9, 9], 'a')];
    const packs = [
      { rows: [0], shared: 0 },
      { rows: [1, 2], shared: 7 },
    ];
    expect(plan(three)).toEqual([{ rows: [1, 0, 2], packs }]);
  });

  it('share images up to there only', () => {
    const other = sequence(prompt, [7, 8], 'b');
    expect(plan([sequence(prompt, [7, 8], 'a'), other])).toEqual([{ rows: [0, 1] }]);
    const later = [1, 2].map((token) => sequence(prompt, [IMAGE, IMAGE, token], 'a', `later ${token}`));
    expect(plan(later)).toEqual([{ rows: [0, 1], packs: [{ rows: [0, 1], shared: 7 }] }]);
  });

  it('are packed up to twice the length of the prompt', () => {
    const answers = [1, 2, 3].map((token) => sequence(prompt, [token, 2, 3], 'a'));
    const packs = [
      { rows: [0], shared: 0 },
      { rows: [1, 2], shared: 7 },
    ];
    expect(plan(answers)).toEqual([{ rows: [2, 0, 1], packs }]);
  });

  it('share a multiple of the tokens that the family asks for', () => {
    const long = [...prompt, ...prompt, ...prompt];
    const two = [1, 2].map((token) => sequence(long, [token, 3], 'a', 'a', 'a'));
    const packs = [{ rows: [0, 1], shared: 20 }];
    expect(plan(two, { packStep: 4 })).toEqual([{ rows: [0, 1], packs }]);
    expect(plan(two, { packStep: 16 })).toEqual([{ rows: [0, 1] }]);
  });

  it('stay separate in a family that cannot read packs', () => {
    const two = [sequence(prompt, [7, 8], 'a'), sequence(prompt, [7, 9], 'a')];
    expect(plan(two, { packStep: undefined })).toEqual([{ rows: [0, 1] }]);
  });
});

describe.each([
  ['softmax attention', 'qwen3-vl-a', 3, 1],
  ['linear attention', 'qwen3-5-a', 40, 18],
])('packed training with %s', (_, fixture, long, short) => {
  let model: TestModel;
  beforeAll(async () => (model = await TestModel.of(fixture)));
  afterEach(() => model.stop());

  it.each(['off', 'on'] as const)(
    'has the gradients and log-probabilities of the sequences alone, with checkpointing %s',
    async (gradientCheckpointing) => {
      const [first, second] = [model.prompt(long, 1), model.prompt(short, 0)];
      const data = [
        model.datum(first, [20, 21, 22]),
        model.datum(first, [23]),
        model.datum(second, [24, 25]),
        model.datum(first, [20, 26, 27], -0.05),
        model.datum(second, [28]),
      ];
      const models = [adapter()];
      const [together, alone] = [
        await model.start({ models, gradientCheckpointing }),
        await model.start({ models, gradientCheckpointing }),
      ];
      const found = await together.forwardBackward({ model: 'policy', data, loss: crossEntropy });
      let loss = 0;
      for (const datum of data) {
        const single = { model: 'policy', data: [datum], loss: crossEntropy };
        loss += (await alone.forwardBackward(single)).metrics.loss;
      }
      expect(found.metrics.loss).toBeCloseTo(loss, 4);
      const norms = [await step(together), await step(alone)].map(({ metrics }) => metrics.grad_norm);
      expect(norms[0] / norms[1]).toBeCloseTo(1, 4);
      const expected: number[] = [];
      for (const datum of data) expected.push(...(await scores(alone, [datum])));
      (await scores(together, data)).forEach((value, i) => expect(value).toBeCloseTo(expected[i], 3));
    },
  );
});
