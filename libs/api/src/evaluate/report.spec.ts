import type { LoadedTask } from '@ui-rl/plugin-kit';
import { makeTask } from '@ui-rl/testkit';
import { candidateResult, compare, evaluationEvent, type EpisodeScore, type Played } from './report';
import { evaluationTable } from './table';

const TAGS = [
  ['web', 'text'],
  ['web', 'icon'],
];
const tasks = ['a', 'b'].map((id, place) =>
  Object.assign(makeTask({ description: `task ${id}`, tags: TAGS[place] }), { id }),
) as LoadedTask[];

/** s: success, f: failure, u: judged by rewards only, x: invalid, -: not played. */
const played = (...outcomes: string[]): Played =>
  outcomes.map((each) =>
    Array.from(each, (outcome, repetition): EpisodeScore | undefined =>
      outcome === '-'
        ? undefined
        : {
            seed: repetition,
            status: outcome === 'x' ? 'invalid' : 'completed',
            success: outcome === 'u' ? null : outcome === 's',
            reward: outcome === 'u' ? 0.5 : 0,
            turns: 3,
            rollout_id: 'r',
          },
    ),
  );

const result = (label: string, found: Played) =>
  candidateResult(tasks, found, {
    label,
    checkpoint: label,
    flags: [],
    refused_parameters: [],
    wall_seconds: 61,
  });

const first = played('sfff', 'fx--');
const second = played('ssxf', 'sf--');

it('invalid episodes count for nothing, nor do those that were not reached', () => {
  const { score, successes, invalid, mean_turns, pass_at_k, tasks: byTask } = result('first', first);
  expect({ score, successes, invalid, mean_turns }).toMatchObject({
    score: { success_rate: 0.2, n: 5 },
    successes: 1,
    invalid: 1,
    mean_turns: 3,
  });
  expect(byTask.map(({ score: of }) => of?.n)).toEqual([4, 1]);
  // The second task has one valid episode, so it has no pass@2.
  expect(pass_at_k).toEqual({ 1: (0.25 + 0) / 2, 2: 0.5, 4: 1 });
  expect(byTask[1].pass_at_k).toEqual({ 1: 0 });
});

it('a task counts for each of its tags', () => {
  const { tags } = result('first', first);
  expect(tags.map(({ tag, tasks: count, successes, score }) => [tag, count, successes, score?.n])).toEqual([
    ['icon', 1, 0, 1],
    ['text', 1, 1, 4],
    ['web', 2, 1, 5],
  ]);
  const report = {
    ...{ run: null, seed: 7, episodes_per_task: 4, temperature: 0, ended: null, comparisons: [] },
    checkpoints: [result('first', first), result('second', second)],
  };
  const table = evaluationTable(report, true);
  expect(table).toMatch(/\n {2}text \(1 task\) +25 % {2}\[\d+–\d+\] {2}1\/4 +67 % {2}\[\d+–\d+\] {2}2\/3\n/);
  expect(table).toMatch(/\n {2}web \(2 tasks\) +20 % /);
  expect(table).not.toContain('task a');
});

it('two are compared over the episodes that are valid of both', () => {
  const found = compare({ label: 'first', played: first }, { label: 'second', played: second });
  expect(found).toMatchObject({
    label: 'second',
    to: 'first',
    pairs: 4,
    better: 2,
    worse: 0,
    difference: 0.5,
  });
  expect(found!.ci[0]).toBeLessThan(0.5);
  expect(compare({ label: 'a', played: played('x') }, { label: 'b', played: played('s') })).toBeNull();
});

it('the table shows each task and all of them, side by side', () => {
  const comparison = compare({ label: 'first', played: first }, { label: 'second', played: second })!;
  const table = evaluationTable({
    run: null,
    seed: 7,
    episodes_per_task: 4,
    temperature: 0,
    ended: null,
    checkpoints: [result('first', first), result('second', second)],
    comparisons: [comparison],
  });
  expect(table).toMatch(/^success at temperature 0, seed 7 +first +second\n/);
  expect(table).toMatch(/\n {2}task a +25 % {2}\[\d+–\d+\] {2}1\/4 +67 % {2}\[\d+–\d+\] {2}2\/3\n/);
  expect(table).toMatch(
    /\nall \(95 % interval\) +20 % {2}\[\d+–\d+\] {2}1\/5 +60 % {2}\[\d+–\d+\] {2}3\/5\n/,
  );
  expect(table).toMatch(/\ndifference to first, in pairs +\+50 points {2}\[−?\d+ to \+\d+\]\n/);
  expect(table).toMatch(/\n {2}only it succeeds \/ only the other +2 \/ 0 of 4\n/);
  expect(table).toMatch(/\ninvalid episodes +1 +1\nwall time +1:01 +1:01$/);
});

it('episodes that only rewards judge have a mean reward, and are in no rate and no comparison', () => {
  const paid = result('paid', played('sf', 'uux'));
  expect(paid).toMatchObject({
    score: { success_rate: 0.5, n: 2 },
    unjudged: 2,
    mean_reward: 0.25,
    invalid: 1,
  });
  expect(paid.tasks[1]).toMatchObject({ score: null, unjudged: 2, mean_reward: 0.5, pass_at_k: {} });
  const [a, b] = ['a', 'b'].map((label) => ({ label, played: played('--', 'uu') }));
  expect(compare(a, b)).toBeNull();
  const report = { run: null, seed: 7, episodes_per_task: 2, temperature: 0, ended: null, comparisons: [] };
  const table = evaluationTable({ ...report, checkpoints: [paid] });
  expect(table).toMatch(/\n {2}task b +reward 0\.500 {2}of 2\n/);
  expect(table).toMatch(/\nmean reward +0\.250 {2}of 4\n/);
  expect(evaluationEvent('run', 'id', paid)).toMatchObject({
    ...{ successRate: 0.5, episodes: 2, unjudged: 2, invalid: 1 },
    metrics: { 'env/all/reward/total': 0.25 },
  });
});
