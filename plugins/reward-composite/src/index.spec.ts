import { join } from 'node:path';
import {
  completeOptions,
  judgesWithoutVerifier,
  loadComponents,
  type ComponentRegistry,
  type Deadline,
  type DetailedReward,
  type JudgedEpisode,
  type Reward,
  type RewardContext,
  type RewardResult,
} from '@ui-rl/plugin-kit';
import { components, CompositeOptions } from './index';

const [composite] = components;
const observation = { sha256: 'a', width: 1, height: 1, png: async () => new Uint8Array() };
const turn = (index: number) => ({ index, observation, text: '', actions: [] });
const EPISODE: JudgedEpisode = {
  task: { description: 'Do it' },
  seed: 0,
  success: true,
  status: 'completed',
  turns: [turn(0), turn(1)],
  finalObservation: observation,
  stateBefore: null,
  stateAfter: null,
};
const DEADLINE: Deadline = { deadlineAt: Date.now() + 60_000, signal: new AbortController().signal };

function contextOf(results: Record<string, () => RewardResult | Promise<RewardResult>>): RewardContext {
  const reward = async ({ name }: { name: string }): Promise<Reward> => ({ score: results[name] });
  return { log: () => {}, environment: {}, reward };
}

async function score(
  results: Record<string, () => RewardResult | Promise<RewardResult>>,
  weights?: Record<string, number>,
): Promise<DetailedReward> {
  const of = Object.keys(results).map((name) => ({ name }));
  const reward = await composite.create({ of, weights }, contextOf(results));
  return (await reward.score(EPISODE, DEADLINE)) as DetailedReward;
}

test('weighs numbers, parts, parts by turns and passes verdicts on', async () => {
  const results = {
    plain: () => 2,
    parts: async () => ({ near: 0.5, far: -0.25 }),
    turns: () => ({ episode: 1, turns: [0.5, { late: -1 }] }),
    judge: () => ({ episode: { judge: 1 }, verdicts: { judge: true } }),
  };
  expect(await score(results, { plain: 0.5, turns: 2, judge: 0 })).toEqual({
    episode: { plain: 1, near: 0.5, far: -0.25, turns: 2, judge: 0 },
    turns: [{ turns: 1 }, { late: -2 }],
    verdicts: { judge: true },
  });
  expect(await score({ plain: () => 2 })).toEqual({ episode: { plain: 2 }, verdicts: {} });
});

test.each<[string, Record<string, () => RewardResult>, string]>([
  [
    'two parts of the same name',
    { one: () => ({ x: 1 }), two: () => ({ turns: [0, { x: 1 }] }) },
    '"one" and "two" both pay a part named "x"',
  ],
  [
    'a member that gives no number',
    { one: () => ({ x: 'much' }) as never },
    'reward "one": gave no finite number',
  ],
  ['a member that gives NaN', { one: () => NaN }, 'reward "one": gave no finite number'],
  ['too few turns', { one: () => ({ turns: [1] }) }, 'reward "one": pays for 1 turns, the episode has 2'],
  [
    'a member that fails',
    {
      one: () => {
        throw new Error('no idea');
      },
    },
    'reward "one": no idea',
  ],
])('%s are reported by name', async (_, results, message) => {
  await expect(score(results)).rejects.toThrow(message);
});

describe('as a run file chooses it', () => {
  let registry: ComponentRegistry;
  beforeAll(async () => {
    registry = await loadComponents({ builtin: join(__dirname, '../..') });
  });
  const complete = (given: object) =>
    completeOptions(CompositeOptions, given as Record<string, unknown>, {
      where: 'run',
      components: registry,
    });

  it('completes and checks the options of what it is made of', async () => {
    const { options, problems } = complete({
      of: ['task-success', { name: 'shaped', success: 2 }],
      weights: { shaped: 0.5 },
    });
    expect(problems).toEqual([]);
    expect(options.of).toEqual([
      { name: 'task-success' },
      expect.objectContaining({ name: 'shaped', success: 2, progress: 0.2 }),
    ]);
    expect(complete({ of: [{ name: 'shaped', success: -1 }] }).problems[0].message).toMatch(
      /of\[0\]\.success is -1, expected a number above 0/,
    );
    expect(complete({ of: 'no-such' }).problems[0].message).toMatch(/no reward is named "no-such"/);
    expect(complete({}).problems[0].message).toMatch(/of is missing/);
    expect(complete({ of: 'shaped', weights: { shaped: 'x' } }).problems[0].message).toMatch(
      /weights is .* expected an object with a number/,
    );
  });

  it('refuses what makes no sense, by name', () => {
    const told = (given: object) => composite.conflicts?.(complete(given).options, {});
    expect(told({ of: ['shaped', 'task-success'] })).toEqual([]);
    expect(told({ of: ['shaped', 'shaped'] })).toEqual(['reward composite: "of" names shaped twice']);
    expect(told({ of: [] })).toEqual(['reward composite: "of" names no reward']);
    expect(told({ of: 'shaped', weights: { shapd: 1 } })).toEqual([
      'reward composite: weights names "shapd", which is none of its rewards (shaped)',
    ]);
  });

  it('judges without a verifier where one of its rewards does', () => {
    const judges = (of: string[]) =>
      judgesWithoutVerifier([{ name: 'composite', of: complete({ of }).options.of }], registry);
    expect(judges(['shaped'])).toBe(false);
    expect(judges(['shaped', 'progress'])).toBe(true);
  });
});
