import { makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { evaluationMetrics, withSums } from './metrics';

const task = (successes: number, episodes: number) => ({
  taskId: 't',
  description: 'd',
  successes,
  episodes,
});

it('says of an evaluation what is said of a step', () => {
  const solved = makeTrajectory({
    reward: 1.5,
    rewards: { 'task-success': 1, speed: 0.5 },
    verdicts: { judge: false },
  });
  const failed = makeTrajectory({
    ...{ status: 'truncated', success: false, reward: 0, rewards: { 'task-success': 0 } },
    turns: [makeTurn({ tokenIds: [1, 2, 3] }), makeTurn({ tokenIds: [1], parseError: 'no action' })],
  });
  const [{ tokenIds }] = solved.turns;
  const sums = [solved, solved, failed].reduce<Record<string, number> | undefined>(withSums, undefined);
  expect(evaluationMetrics({ sums }, [task(1, 1), task(1, 2), task(0, 0)])).toEqual({
    'env/all/success': 2 / 3,
    'env/all/episodes': 3,
    'env/all/reward/total': 1,
    'env/all/reward/task-success': 2 / 3,
    'env/all/reward/speed': 1 / 3,
    'env/all/verdict/judge/success': 0,
    'env/all/verdict/judge/count': 2,
    'env/all/verdict/judge/agreement': 0,
    'env/all/verdict/judge/false_positives': 0,
    'env/all/verdict/judge/false_negatives': 1,
    'env/all/turns_per_episode': 4 / 3,
    'env/all/ac_tokens_per_turn': (2 * tokenIds.length + 4) / 4,
    'env/all/parse_failures': 1 / 4,
    'env/all/truncated': 1 / 3,
    'env/all/by_group/frac_mixed': 1 / 2,
    'env/all/by_group/frac_all_good': 1 / 2,
    'env/all/by_group/frac_all_bad': 0,
  });
});

it('says of episodes that rewards alone judge what they were paid, and nothing of success', () => {
  const paid = makeTrajectory({ success: null, reward: 0.5, rewards: { progress: 0.5 } });
  const metrics = evaluationMetrics({ sums: withSums(undefined, paid) }, [task(0, 0)]);
  expect(metrics).toMatchObject({ 'env/all/episodes': 1, 'env/all/reward/total': 0.5 });
  expect(Object.keys(metrics).filter((name) => /success|by_group/.test(name))).toEqual([]);
});

it('says nothing of an evaluation without an episode that counts', () => {
  expect(evaluationMetrics({}, [task(0, 0)])).toEqual({});
});
