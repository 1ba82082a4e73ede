import type { DetailedReward, EpisodeTurn, JudgedEpisode, RewardContext } from '@ui-rl/plugin-kit';
import { components } from './index';
import { ProgressOptions } from './options';

const counts = (rows: number[], incorrect = 0) => ({
  submitted_row_indices: rows,
  num_incorrect_submissions: incorrect,
});

const observation = { sha256: 'a', width: 1, height: 1, png: async () => new Uint8Array() };

/** @param states before the first turn, and after each */
function episode(states: (Record<string, unknown> | undefined)[]): JudgedEpisode {
  const turns = states.slice(1).map((state, index): EpisodeTurn => ({
    index,
    observation,
    text: '',
    actions: [],
    stateAfter: state,
  }));
  return {
    task: { description: 'Enter all rows' },
    seed: 0,
    success: null,
    status: 'completed',
    turns,
    finalObservation: observation,
    stateBefore: states[0] ?? null,
    stateAfter: states.at(-1) ?? null,
  };
}

async function score(played: JudgedEpisode, options: Partial<ProgressOptions> = {}): Promise<DetailedReward> {
  const reward = await components[0].create(
    Object.assign(new ProgressOptions(), options),
    {} as RewardContext,
  );
  const deadline = { deadlineAt: Date.now() + 1_000, signal: new AbortController().signal };
  return (await reward.score(played, deadline)) as DetailedReward;
}

test('pays in the turn that submitted: rows gained, less wrong ones and a small cost', async () => {
  const played = episode([
    counts([2]),
    counts([2]),
    counts([2, 0], 1),
    counts([0, 2], 1),
    counts([0, 2, 5], 3),
  ]);
  const cost = { submission_steps: -0.01 };
  expect(await score(played)).toEqual({
    turns: [
      { submissions_correct: 0, submissions_incorrect: 0, ...cost },
      { submissions_correct: 1, submissions_incorrect: -0.5, ...cost },
      { submissions_correct: 0, submissions_incorrect: 0, ...cost },
      { submissions_correct: 1, submissions_incorrect: -1, ...cost },
    ],
  });
});

test('pays for the episode where the environment tells its state only at the ends', async () => {
  const played = episode([counts([]), undefined, undefined, counts([0, 3], 1)]);
  expect(await score(played, { correct: 2, incorrect: 0.25, step_cost: 0 })).toEqual({
    episode: { submissions_correct: 4, submissions_incorrect: -0.25 },
    turns: [{ submission_steps: 0 }, { submission_steps: 0 }, { submission_steps: 0 }],
  });
});

test('finds the counts by their path, and judges tasks that no verifier does', async () => {
  const nested = (rows: number[]) => ({ app: { progress: counts(rows) } });
  const { turns } = await score(episode([nested([]), nested([4])]), { path: 'app.progress' });
  expect(turns).toEqual([expect.objectContaining({ submissions_correct: 1 })]);
  expect(components[0].judgesWithoutVerifier).toBe(true);
});

test.each<[string, (Record<string, unknown> | undefined)[], Partial<ProgressOptions>, RegExp]>([
  [
    'no state',
    [undefined, counts([1])],
    {},
    /reports null before the first turn, expected the counts of ui-verifiers/,
  ],
  ['another state', [counts([]), { screen: 'home' }], {}, /reports \{"screen":"home"\} at the end, expected/],
  [
    'rows that are none',
    [counts([]), { ...counts([]), submitted_row_indices: ['1'] }],
    {},
    /at the end, expected/,
  ],
  [
    'nothing at the path',
    [counts([]), counts([1])],
    { path: 'app' },
    /reports nothing at "app" before the first turn/,
  ],
  ['another state between', [counts([]), { screen: 'home' }, counts([1])], {}, /after turn 0, expected/],
])('an environment with %s cannot be scored, and it is said why', async (_, states, options, message) => {
  await expect(score(episode(states), options)).rejects.toThrow(message);
});
