import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Turn } from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry, type Engine } from '@ui-rl/plugin-kit';
import { groupOf, turnOf } from '../../test/groups';
import { type Changes, optionsWith } from '../../test/learning-options';
import { OUTSIDE } from '../../test/outside-components';
import type { Group } from '../episodes/groups';
import { makeAlgorithm } from './algorithm';
import { BatchTrainer, type BatchResult } from './batch-trainer';
import { sequenceOf, toScore } from './turn-data';

/** Tokens of the model. */
const VOCABULARY = 300;
const model = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const context = { imageTokenId: -1, imagesOfPrompt: () => Promise.resolve([]) };

let dir: string;
let components: ComponentRegistry;
let engine: Engine;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outside-'));
  await writeFile(join(dir, 'outside.js'), OUTSIDE);
  components = await loadComponents({ packages: ['./outside.js'], from: dir });
});
afterAll(() => rm(dir, { recursive: true }));

beforeEach(async () => {
  engine = await startEngine();
});
afterEach(() => engine.stop());

function startEngine(): Promise<Engine> {
  const lora = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  return components.create(
    'engine',
    { name: 'local', device: 'cpu', threads: 1 },
    {
      modelDir: model,
      cacheDir: tmpdir(),
      models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } }],
      maxRows: 4,
      maxSequence: 64,
      deterministic: true,
      seed: 1,
      endTokenIds: [],
      componentFiles: components.files,
      environment: {},
      fetchImage: () => Promise.resolve(null),
      log: () => undefined,
      onProgress: () => undefined,
    },
  );
}

/** A turn sampled by the current policy. */
async function play(prompt: number[], seed: number, maxTokens = 6): Promise<Turn> {
  const { tokens, logprobs } = await engine.sample({
    model: 'policy',
    prompt: { chunks: [{ type: 'text', tokens: prompt }] },
    maxTokens,
    temperature: 1,
    topP: 1,
    seed,
  });
  return turnOf(0, { promptTokenIds: prompt, promptImages: [], imageTokens: 0, tokenIds: tokens, logprobs });
}

/** The current log-probability of a turn's answer. */
async function logprobOf(turn: Turn, policy = 'policy', of = engine): Promise<number> {
  const [trajectory] = groupOf(0, [{ turns: [turn] }]).trajectories;
  const data = [toScore(await sequenceOf(trajectory, turn, context))];
  const { logprobs } = await of.forward({ model: policy, data });
  return logprobs[0].filter((value) => !Number.isNaN(value)).reduce((sum, value) => sum + value, 0);
}

function train(
  groups: Group[],
  changes: Changes = {},
  steps = 1,
  before = 0,
  teacher?: Engine,
): Promise<BatchResult> {
  const options = {
    'algorithm.advantage': 'dr_grpo',
    'algorithm.loss': 'importance_sampling',
    'training.learning_rate': 2e-3,
    ...changes,
  };
  const trainer = new BatchTrainer(
    engine,
    makeAlgorithm(optionsWith(components, options), components),
    context,
    teacher,
  );
  const repeat = async (left: number): Promise<BatchResult> => {
    const result = await trainer.train(groups, before, 'none');
    return left > 1 ? repeat(left - 1) : result;
  };
  return repeat(steps);
}

it('makes turns more or less probable as the estimator says, turn by turn', async () => {
  const turns = [await play([5, 6, 7], 1), await play([8, 9], 2), await play([10, 11], 3)];
  const before = await Promise.all(turns.map((turn) => logprobOf(turn)));
  const { metrics } = await train(
    [groupOf(0, [{ turns }])],
    { 'algorithm.advantage': { name: 'by-turn', scale: 2 } },
    3,
  );
  const after = await Promise.all(turns.map((turn) => logprobOf(turn)));
  expect(after.map((value, index) => Math.sign(value - before[index]))).toEqual([1, -1, 1]);
  expect(metrics).toMatchObject({ 'advantage/scale': 2, 'optim/samples': 3, 'optim/lr': 2e-3 });
});

it('trains pairs with a loss of sequences against the base model', async () => {
  const chosen = [await play([5, 6, 7], 1), await play([5, 6, 8], 2)];
  const rejected = [await play([5, 6, 7], 3)];
  const groups = [
    groupOf(0, [
      { reward: 1, turns: chosen },
      { reward: 0, turns: rejected },
    ]),
  ];
  const marginNow = async (): Promise<number> => {
    const sums = await Promise.all([...chosen, ...rejected].map((turn) => logprobOf(turn)));
    return sums[0] + sums[1] - sums[2];
  };
  const before = await marginNow();
  const dpo = { 'algorithm.loss': { name: 'dpo', beta: 0.5 } };
  const first = await train(groups, dpo);
  // Initially there is no preference: −log σ(0).
  expect(first.metrics['optim/loss']).toBeCloseTo(Math.LN2, 4);
  expect(first.metrics['optim/margin']).toBeCloseTo(0, 4);
  const later = await train(groups, dpo, 4);
  expect(later.metrics['optim/loss']).toBeLessThan(Math.LN2 - 0.01);
  expect(await marginNow()).toBeGreaterThan(before + 0.1);
});

it('takes steps with an optimizer from outside', async () => {
  const turns = [await play([5, 6, 7], 1)];
  const other = [await play([5, 6, 7], 2)];
  const group = groupOf(0, [
    { reward: 1, turns },
    { reward: 0, turns: other },
  ]);
  const before = await logprobOf(turns[0]);
  const { digest } = await train([group], {
    'training.optimizer': { name: 'plain-descent' },
    'training.learning_rate': 0.5,
  });
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect(await logprobOf(turns[0])).toBeGreaterThan(before);
});

it('gives estimators the log-probabilities of the base model, at any policy version', async () => {
  const turn = await play([5, 6, 7], 1);
  const group = groupOf(0, [{ turns: [turn] }]);
  const base = (await logprobOf(turn)) / turn.tokenIds.length;
  await train([group], { 'algorithm.advantage': { name: 'by-turn' } }, 3);
  expect(Math.abs((await logprobOf(turn)) / turn.tokenIds.length - base)).toBeGreaterThan(1e-3);
  turn.logprobs = turn.logprobs.map(() => 0);
  const { metrics } = await train([group], {
    'algorithm.advantage': { name: 'reference' },
    'algorithm.correction': { name: 'plain' },
  });
  // Ratio and weight are 1 before the step, so the loss is minus the mean advantage.
  expect(metrics['optim/loss']).toBeCloseTo(-base, 4);
});

describe('a teacher', () => {
  const distilled = {
    'algorithm.advantage': { name: 'distillation' },
    'teacher.name': 'fixture',
    'training.learning_rate': 1e-2,
  };
  let teacher: Engine;

  /** Its policy finds a turn more probable than the base model does. */
  beforeEach(async () => {
    const turn = await play([5, 6, 7], 1);
    await train(
      [groupOf(0, [{ turns: [turn] }])],
      { 'algorithm.advantage': { name: 'by-turn' }, 'training.learning_rate': 5e-3 },
      4,
    );
    [teacher, engine] = [engine, await startEngine()];
  });
  afterEach(() => teacher.stop());

  async function batchOf(first: number): Promise<Group> {
    const turns: Turn[] = [];
    for (let seed = first; seed < first + 16; seed++) turns.push(await play([5, 6, 7], seed));
    return groupOf(
      0,
      turns.map((turn) => ({ reward: 0, turns: [turn] })),
    );
  }

  it('scores the tokens of the policy', async () => {
    const batch = await batchOf(1);
    const turns = batch.trajectories.flatMap((trajectory) => trajectory.turns);
    const tokens = turns.reduce((sum, turn) => sum + turn.tokenIds.length, 0);
    const own = await Promise.all(turns.map((turn) => logprobOf(turn)));
    const taught = await Promise.all(turns.map((turn) => logprobOf(turn, 'policy', teacher)));
    const divergence = own.reduce((sum, value, turn) => sum + value - taught[turn], 0) / tokens;
    const { metrics } = await train([batch], distilled, 1, 0, teacher);
    expect(metrics['advantage/teacher_kl']).toBeCloseTo(divergence, 4);
    // Before the step the ratio is 1, so the loss is minus the mean advantage.
    expect(metrics['optim/loss']).toBeCloseTo(divergence, 4);
  });

  it('draws the policy towards it', async () => {
    const before = await divergence();
    for (let step = 0; step < 8; step++) {
      const turns: Turn[] = [];
      for (let seed = 0; seed < 64; seed++) turns.push(await play([5, 6, 7], 1000 * step + seed, 1));
      const group = groupOf(
        0,
        turns.map((turn) => ({ reward: 0, turns: [turn] })),
      );
      await train([group], distilled, 1, step, teacher);
    }
    expect(before).toBeGreaterThan(0.05);
    expect(await divergence()).toBeLessThan(0.7 * before);
  });

  /** KL(π ‖ π_teacher) of the first token after a prompt, exactly: the sum over the vocabulary. */
  async function divergence(): Promise<number> {
    const vocabulary = Array.from({ length: VOCABULARY }, (_, token) => token);
    const data = vocabulary.map((token) => ({
      modelInput: { chunks: [{ type: 'text' as const, tokens: [5, 6, 7] }] },
      targetTokens: [6, 7, token],
      weights: [0, 0, 1],
    }));
    const [own, taught] = await Promise.all(
      [engine, teacher].map(async (each) => (await each.forward({ model: 'policy', data })).logprobs),
    );
    return vocabulary.reduce(
      (sum, token) => sum + Math.exp(own[token][2]) * (own[token][2] - taught[token][2]),
      0,
    );
  }

  it('is missing', async () => {
    await expect(train([await batchOf(1)], distilled)).rejects.toThrow(
      'advantage distillation reads teacher_logprobs, but the run has no teacher',
    );
  });
});

it('corrects for tokens that another policy sampled: weights up to a cap, ratios against the policy before the step', async () => {
  const turn = await play([5, 6, 7], 1);
  const tokens = turn.tokenIds.length;
  turn.logprobs = turn.logprobs.map((logprob, index) => logprob - (index === 0 ? 1 : -1));
  const { metrics } = await train([groupOf(0, [{ turns: [turn] }])], {
    'algorithm.advantage': { name: 'by-turn' },
    'algorithm.correction': { name: 'tis', importance_ratio_cap: 2 },
  });
  // Advantage 1, ratio 1; the first token has weight min(e, 2), the others 1/e.
  expect(metrics['optim/loss']).toBeCloseTo(-(2 + (tokens - 1) / Math.E) / tokens, 4);
  // The sampler is still compared with the trainer.
  expect(metrics['optim/logp_difference_max']).toBeCloseTo(1, 4);
});

it('trains a replayed success as a sample of the current policy, however old it is', async () => {
  const failed = groupOf(0, [{ reward: 0, success: false, turns: [await play([5, 6, 7], 1, 2)] }]);
  const [kept] = groupOf(1, [
    { reward: 1, success: true, turns: [await play([5, 6, 8], 2, 6)] },
  ]).trajectories;
  const [turn] = kept.turns;
  turn.logprobs = turn.logprobs.map((logprob) => logprob - 3);
  const { id, description } = kept.request.task;
  const changes = {
    'algorithm.advantage': 'dr_grpo',
    'algorithm.loss': 'importance_sampling',
    'algorithm.replayed_successes': 1,
    'algorithm.correction': { name: 'tis', importance_ratio_cap: 2 },
  };
  const algorithm = makeAlgorithm(optionsWith(components, changes), components);
  const trainer = new BatchTrainer(engine, algorithm, context);
  const memory = { kept: [[id ?? description, [kept.request.rolloutId]]] };
  const { metrics, carried } = await trainer.train([failed], 0, 'none', {
    carried: { memory, kept: [kept] },
  });
  const [few, many] = [failed.trajectories[0].turns[0].tokenIds.length, turn.tokenIds.length];
  // Advantages ±0.5, ratios and weights 1.
  expect(metrics['optim/loss']).toBeCloseTo(-(0.5 * many - 0.5 * few) / (many + few), 4);
  expect(metrics).toMatchObject({ 'advantage/replayed': 1, 'optim/samples': 2 });
  expect(metrics['optim/logp_difference_max']).toBeLessThan(1e-4);
  expect(carried.kept.map(({ request }) => request.rolloutId)).toEqual([kept.request.rolloutId]);
});

it('leaves turns and pairs out of which a correction masks all tokens, and takes no step where nothing is left', async () => {
  const near = await play([5, 6, 7], 1);
  const far = await play([5, 6, 8], 2);
  const expected = near.tokenIds.length;
  far.logprobs = far.logprobs.map((logprob) => logprob - 3);
  const correction = { name: 'mis', importance_ratio_of: 'turn-mean' };
  const masked = { 'algorithm.advantage': { name: 'by-turn' }, 'algorithm.correction': correction };
  const { metrics, tokens } = await train([groupOf(0, [{ turns: [near, far] }])], masked);
  expect(metrics).toMatchObject({ 'optim/samples': 1, 'optim/substeps': 1 });
  expect(tokens).toBe(expected);
  const all = expected + far.tokenIds.length;
  expect(metrics['optim/correction_masked']).toBeCloseTo(far.tokenIds.length / all, 6);
  expect(metrics['optim/correction_weight_mean']).toBeCloseTo(expected / all, 3);
  expect(await train([groupOf(0, [{ turns: [far] }])], masked)).toMatchObject({
    tokens: 0,
    digest: 'none',
    metrics: { 'optim/substeps': 0, 'optim/correction_masked': 1 },
  });
  const pair = groupOf(0, [
    { reward: 1, turns: [near] },
    { reward: 0, turns: [far] },
  ]);
  expect(
    await train([pair], { 'algorithm.loss': { name: 'dpo' }, 'algorithm.correction': correction }),
  ).toMatchObject({ tokens: 0 });
});

/** Two episodes: one of two turns, one that passes the first screen of the other. */
async function passing(): Promise<[Turn, Turn, Turn]> {
  const [home, apart] = ['a', 'b'].map((digit) => digit.repeat(64));
  const change = { policyVersion: 1 };
  const shared = Object.assign(await play([5, 6, 7], 1), { ...change, screenshot: home, reward: 0 });
  const alone = Object.assign(await play([8, 9], 2), { ...change, screenshot: apart, reward: 1 });
  const other = Object.assign(await play([5, 6, 7], 3), { ...change, screenshot: home, reward: 1 });
  return [shared, alone, other];
}

it.each<[string, Changes, Partial<Turn>]>([
  // Both have the same reward, and no other turn saw the second screen: exactly 0.
  ['has no advantage', { 'algorithm.advantage': { name: 'gigpo' } }, {}],
  ['is too old', { 'algorithm.advantage': { name: 'by-turn' } }, { policyVersion: 0 }],
])('has ratios of episodes speak of a turn, too, that %s', async (_, changes, change) => {
  const [shared, alone, other] = await passing();
  // Far less probable under the sampler than under the policy.
  Object.assign(alone, change, { logprobs: alone.logprobs.map((logprob) => logprob - 3) });
  const group = groupOf(0, [
    { reward: 1, turns: [shared, alone] },
    { reward: 1, turns: [other] },
  ]);
  const correction = { name: 'mis', importance_ratio_of: 'episode-mean' };
  const { metrics, tokens } = await train([group], { ...changes, 'algorithm.correction': correction }, 1, 1);
  expect(tokens).toBe(other.tokenIds.length);
  expect(metrics['optim/samples']).toBe(1);
  const all = shared.tokenIds.length + other.tokenIds.length;
  expect(metrics['optim/correction_masked']).toBeCloseTo(shared.tokenIds.length / all, 6);
  // The probability of each one is unchanged.
  const ofTurns = { ...correction, importance_ratio_of: 'turn-mean' };
  expect((await train([group], { ...changes, 'algorithm.correction': ofTurns }, 1, 1)).metrics).toMatchObject(
    {
      'optim/samples': 2,
      'optim/correction_masked': 0,
    },
  );
});

/** A group with equal rewards, played by a policy that has moved away from the base model. */
async function drifted(): Promise<{ group: Group; turns: Turn[] }> {
  const lesson = await play([5, 6, 7], 1);
  await train(
    [groupOf(0, [{ turns: [lesson] }])],
    { 'algorithm.advantage': { name: 'by-turn', scale: 3 } },
    4,
  );
  const turns = [await play([5, 6, 7], 1), await play([5, 6, 7], 2)];
  return {
    group: groupOf(
      0,
      turns.map((turn) => ({ reward: 1, turns: [turn] })),
    ),
    turns,
  };
}

async function driftOf(turns: readonly Turn[]): Promise<number> {
  const [now, base] = await Promise.all(
    ['policy', 'base'].map((name) => Promise.all(turns.map((turn) => logprobOf(turn, name)))),
  );
  const tokens = turns.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  return now.reduce((sum, value, index) => sum + value - base[index], 0) / tokens;
}

it('adds regularizers to the loss, also where no advantage is left', async () => {
  const { group, turns } = await drifted();
  const before = await driftOf(turns);
  expect(before).toBeGreaterThan(0.02);
  const pulled = {
    'algorithm.regularizers': [{ name: 'kl', coef: 1, estimator: 'k1' }, { name: 'entropy' }],
  };
  const { metrics } = await train([group], pulled);
  expect(metrics['optim/regularizer/kl/divergence']).toBeCloseTo(before, 4);
  expect(metrics['optim/regularizer/kl']).toBeCloseTo(before, 4);
  expect(metrics['optim/regularizer/entropy']).toBeCloseTo(-0.001 * metrics['optim/entropy'], 6);
  expect(metrics['optim/loss']).toBeCloseTo(before - 0.001 * metrics['optim/entropy'], 4);
  await train([group], { 'algorithm.regularizers': [{ name: 'kl', coef: 1, estimator: 'k2' }] }, 3);
  expect(await driftOf(turns)).toBeLessThan(before - 0.01);
});

it('takes drift from the base model off the advantages, and measures how far a step moved the policy', async () => {
  const { group, turns } = await drifted();
  const drift = await driftOf(turns);
  const before = await Promise.all(turns.map((turn) => logprobOf(turn)));
  const { metrics } = await train([group], {
    'algorithm.kl_penalty_coef': 0.5,
    'algorithm.compute_post_kl': true,
  });
  expect(metrics.kl_policy_base).toBeCloseTo(drift, 4);
  // Penalties sum to 0, and so does a loss with ratios of 1.
  expect(metrics['optim/loss']).toBeCloseTo(0, 4);
  expect(metrics['optim/grad_norm']).toBeGreaterThan(1e-3);
  const after = await Promise.all(turns.map((turn) => logprobOf(turn)));
  const tokens = turns.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const moved = before.reduce((sum, value, index) => sum + value - after[index], 0) / tokens;
  expect(metrics.kl_pre_post_v1).toBeCloseTo(moved, 5);
  expect(metrics.kl_pre_post_v2).toBeGreaterThan(0.5 * moved ** 2);
});

it('splits a batch into optimizer steps by groups, and takes none where nothing is to be learnt', async () => {
  const groupWith = async (index: number, rewards: [number, number]): Promise<Group> =>
    groupOf(
      index,
      await Promise.all(
        rewards.map(async (reward, member) => ({ reward, turns: [await play([5, 6, 7 + index], member)] })),
      ),
    );
  const groups = [await groupWith(0, [1, 0]), await groupWith(1, [1, 1]), await groupWith(2, [0, 1])];
  const { metrics, digest } = await train(groups, { 'training.num_substeps': 3 });
  expect(metrics).toMatchObject({ 'optim/substeps': 2, 'optim/samples': 4 });
  const nothing = await train([groups[1]]);
  expect(nothing).toMatchObject({ digest: 'none', tokens: 0, metrics: { 'optim/substeps': 0 } });
  expect(digest).not.toBe('none');
});

it('passes over a batch several times: the second pass sees what the first one changed', async () => {
  const turns = [await play([5, 6, 7], 1), await play([5, 6, 7], 2)];
  const group = groupOf(
    0,
    turns.map((turn, index) => ({ reward: 1 - index, turns: [turn] })),
  );
  const clipped = { 'algorithm.loss': { name: 'ppo', clip_low: 0.01, clip_high: 0.01 } };
  const before = await logprobOf(turns[0]);
  const { metrics, episodes } = await train([group], { ...clipped, 'training.passes_per_batch': 3 });
  expect(metrics).toMatchObject({ 'optim/substeps': 3, 'optim/samples': 6 });
  expect(metrics['optim/ratio_max']).toBeGreaterThan(1.01);
  expect(metrics['optim/logp_difference_max']).toBeLessThan(1e-4);
  // The recorded values are those of the first pass.
  const recorded = episodes[0].turns[0].logprobs.reduce((sum, value) => sum + value, 0);
  expect(recorded).toBeCloseTo(before, 3);
  expect(await logprobOf(turns[0])).toBeGreaterThan(before);
});

it.each([
  ['advantage', 'seer', 'advantage seer reads values, which this run does not have: advantage seer'],
  ['loss', 'critic', 'policy-loss critic reads values, which this run does not have: advantage by-turn'],
  ['loss', 'regress', 'policy-loss regress reads returns, which this run does not have: advantage by-turn'],
])('refuses an %s that reads inputs which the run does not compute, by name', async (part, name, message) => {
  await expect(async () =>
    train([], { 'algorithm.advantage': 'by-turn', [`algorithm.${part}`]: { name } }),
  ).rejects.toThrow(message);
});
