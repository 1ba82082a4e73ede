import { encodeKeptTokens } from '@ui-rl/contracts';
import { makeTrajectory, makeTurn } from '@ui-rl/testkit';
import {
  atSampledTokens,
  findDefect,
  sequenceOf,
  toScore,
  toTrain,
  type PromptImage,
  type TurnSequence,
} from './turn-data';

const PLACEHOLDER = 9;
const LIMITS = { vocabSize: 100, imageTokenId: PLACEHOLDER };
const context = {
  imageTokenId: PLACEHOLDER,
  imagesOfPrompt: async (hashes: readonly string[]): Promise<PromptImage[]> =>
    hashes.map((sha256) => ({ sha256, tokens: 2 })),
};

const said = {
  promptTokenIds: [1, PLACEHOLDER, PLACEHOLDER, 2],
  promptImages: ['a'],
  imageTokens: 2,
  tokenIds: [5, 6],
  logprobs: [-0.5, -0.25],
  temperature: 0.7,
};

function sequence(changes: object = {}): Promise<TurnSequence> {
  const turn = makeTurn({ ...said, ...changes });
  return sequenceOf(makeTrajectory({ turns: [turn] }), turn, context);
}

describe('the sequence of a turn', () => {
  it('is what was read and said; each position predicts the token that follows it', async () => {
    expect(await sequence()).toMatchObject({
      modelInput: {
        chunks: [
          { type: 'text', tokens: [1] },
          { type: 'image', sha256: 'a', tokens: 2 },
          { type: 'text', tokens: [2] },
          { type: 'text', tokens: [5] },
        ],
      },
      targetTokens: Int32Array.of(PLACEHOLDER, PLACEHOLDER, 2, 5, 6),
      temperature: 0.7,
      length: 5,
      first: 3,
    });
  });

  it('says of each token what its distribution was cut to', async () => {
    const kept = [[5, 40], []];
    const own = await sequence({ keptTokens: encodeKeptTokens(kept) });
    const data = [
      toScore(own),
      toTrain({ sequence: own, weights: Float32Array.of(1, 1), inputs: {} }, [], 'token'),
    ];
    for (const { keptTokens } of data) {
      expect(keptTokens?.map((ids) => Array.from(ids))).toEqual([[], [], [], ...kept]);
    }
    const whole = toScore(await sequence());
    expect(whole).not.toHaveProperty('keptTokens');
  });

  it('is scored and trained where tokens were sampled, and nowhere else', async () => {
    const own = await sequence();
    expect(toScore(own).weights).toEqual(Float32Array.of(0, 0, 0, 1, 1));
    expect(atSampledTokens(own, Float32Array.of(1, 2, 3, 4, 5))).toEqual(Float32Array.of(4, 5));
    const datum = toTrain(
      {
        sequence: own,
        weights: Float32Array.of(0.25, 0.75),
        inputs: { advantages: [2, -3], old_logprobs: own.turn.logprobs, returns: [8, 8] },
      },
      ['advantages', 'old_logprobs'],
      'token',
    );
    expect(datum).toMatchObject({
      weights: Float32Array.of(0, 0, 0, 0.25, 0.75),
      lossInputs: {
        advantages: Float32Array.of(0, 0, 0, 2, -3),
        old_logprobs: Float32Array.of(0, 0, 0, -0.5, -0.25),
      },
      temperature: 0.7,
    });
    expect(datum.sequence).toBeUndefined();
    expect(Object.keys(datum.lossInputs ?? {})).toEqual(['advantages', 'old_logprobs']);
  });

  it('ends with the prompt where one token was sampled', async () => {
    const own = await sequence({ tokenIds: [5], logprobs: [-1] });
    expect(own.modelInput.chunks.at(-1)).toEqual({ type: 'text', tokens: [2] });
    expect([...(own.targetTokens as Int32Array)].at(-1)).toBe(5);
  });

  it('shows several images, each with its features', async () => {
    const prompt = [PLACEHOLDER, PLACEHOLDER, PLACEHOLDER, PLACEHOLDER, 2];
    const own = await sequence({ promptTokenIds: prompt, promptImages: ['a', 'b'], imageTokens: 4 });
    expect(own.modelInput.chunks.slice(0, 2)).toEqual([
      { type: 'image', sha256: 'a', tokens: 2 },
      { type: 'image', sha256: 'b', tokens: 2 },
    ]);
  });

  it('is refused where images and placeholders do not add up', async () => {
    await expect(sequence({ promptImages: ['a', 'b'] })).rejects.toThrow(
      '2 image placeholders, but their 2 images have 4 features',
    );
  });
});

describe('a trajectory', () => {
  const defectOf = (changes: object): string | undefined =>
    findDefect(makeTrajectory({ turns: [makeTurn({ ...said, ...changes })] }), LIMITS);

  it('is not trained where it contradicts itself', () => {
    expect(defectOf({})).toBeUndefined();
    expect(defectOf({ imageTokens: 3 })).toContain('2 image placeholders but 3 image features');
    expect(defectOf({ logprobs: [1] })).toContain('2 tokens but 1 log-probabilities');
    expect(defectOf({ promptTokenIds: [], imageTokens: 0 })).toContain('has no prompt');
  });

  it('is not trained where the model or its numbers cannot hold it', () => {
    expect(defectOf({ tokenIds: [5, 100] })).toBe('turn 0 has token 100, the model knows 0 to 99');
    expect(defectOf({ promptTokenIds: [1, PLACEHOLDER, PLACEHOLDER, -2] })).toContain('has token -2');
    expect(defectOf({ logprobs: [-0.5, -1e300] })).toContain('log-probability -1e+300');
    expect(defectOf({ keptTokens: encodeKeptTokens([[5, 7], []]) })).toBeUndefined();
    expect(defectOf({ keptTokens: encodeKeptTokens([[4, 7], []]) })).toContain(
      'token 5, which is not among those',
    );
    expect(defectOf({ keptTokens: encodeKeptTokens([[5, 100], []]) })).toContain(
      'token 5, which is not among those',
    );
    expect(defectOf({ keptTokens: encodeKeptTokens([[5, 7]]) })).toContain(
      'cannot be read: the kept tokens end',
    );
    expect(defectOf({ reward: 1e308 })).toContain('turn 0 has the reward 1e+308');
    for (const reward of [Number.NaN, 1e308]) {
      expect(findDefect(makeTrajectory({ reward, turns: [] }), LIMITS)).toBe(
        `its reward is ${reward}, expected a number of 32 bits`,
      );
    }
    const rewards = { tidy: -1e308, near: 1e308 };
    expect(findDefect(makeTrajectory({ reward: 0, rewards, turns: [] }), LIMITS)).toContain(
      'its reward "tidy" is -1e+308',
    );
  });
});
