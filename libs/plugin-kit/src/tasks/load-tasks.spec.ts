import type { Task } from '@ui-rl/contracts';
import type { Component, TaskSourceComponent } from '../kinds';
import { ComponentRegistry } from '../registry';
import { refuseSharedGoals } from './goals';
import { refuseUnjudged, warnOfCutTasks } from './judged';
import { loadTasks, openTasks } from './load-tasks';

const task = (id: string | undefined, description: string): Task => ({ id, description });

function source(type: string, tasks: Task[]) {
  const component: TaskSourceComponent<{ limit?: number }> = {
    kind: 'task-source',
    name: type,
    options: { limit: { type: 'integer', description: 'so many at most', atLeast: 1 } },
    create: ({ limit }) => ({ load: async () => tasks.slice(0, limit) }),
  };
  return { component: component as TaskSourceComponent, file: type };
}

const registry = new ComponentRegistry([
  source('letters', [task('a', 'Open A'), task('b', 'Open B')]),
  source('vowels', [task('a', 'Open A'), task('e', 'Open E')]),
  source('other', [task('a', 'Close A')]),
  source('nameless', [task(undefined, 'Open X')]),
]);

describe('loadTasks', () => {
  it('joins sources in order, each task once, and hands them their options', async () => {
    const tasks = await loadTasks(registry, [
      { source_type: 'letters', limit: 1 },
      { source_type: 'vowels' },
    ]);
    expect(tasks.map(({ id }) => id)).toEqual(['a', 'e']);
  });

  it.each([
    [['letters', 'other'], 'two tasks have the id "a": "Open A" and "Close A"'],
    [['nameless'], 'source_type "nameless" gave a task without id: "Open X"'],
    [['digits'], 'no task-source is named "digits" (known: letters, nameless, other, vowels)'],
  ])('refuses %j', async (types, message) => {
    await expect(
      loadTasks(
        registry,
        types.map((type) => ({ source_type: type })),
      ),
    ).rejects.toThrow(message);
  });
});

describe('tasks in a run', () => {
  const judged = { description: 'Judged', tags: ['device'] };
  const components: Component[] = [
    {
      kind: 'verifier',
      name: 'picky',
      judges: ({ tags = [] }) => tags.includes('device'),
      create: () => ({ verify: () => null }),
    },
    { kind: 'verifier', name: 'bold', create: () => ({ verify: () => true }) },
    { kind: 'reward', name: 'plain', create: () => ({ score: () => 0 }) },
    { kind: 'reward', name: 'judge', judgesWithoutVerifier: true, create: () => ({ score: () => 0 }) },
  ];
  const mixed = new ComponentRegistry([
    ...components.map((component) => ({ component, file: 'here' })),
    source('mixed', [
      { id: 'a', ...judged, maxSteps: 30 },
      { id: 'b', description: 'Free', maxSteps: 5 },
      { id: 'c', description: 'Long', maxSteps: 40, checks: [{ path: 'x', operator: 'equals', value: 1 }] },
    ]),
  ]);
  const open = (verifier: string) =>
    openTasks(mixed, [{ source_type: 'mixed' }], {}, { verifier: { name: verifier }, maxTurns: 20 });
  const refuse = async (verifier: string, reward: string, log?: (level: string, message: string) => void) =>
    refuseUnjudged(
      await open(verifier),
      { verifier: { name: verifier }, rewards: [{ name: reward }] },
      mixed,
      log,
    );

  it('those that its verifier cannot judge are refused, unless a reward judges', async () => {
    await expect(refuse('picky', 'plain')).rejects.toThrow(
      /2 of 3 tasks have nothing that the verifier "picky" could judge: "b", "c"\. Option rewards adds a judge: .*--rewards '\[/,
    );
    const said: string[] = [];
    await refuse('picky', 'judge', (_level, message) => said.push(message));
    expect(said).toEqual([expect.stringMatching(/^2 of 3 tasks .* the rewards of the run judge them$/)]);
    await refuse('bold', 'plain');
  });

  it('reports tasks that need more turns than it allows', async () => {
    const said: string[] = [];
    warnOfCutTasks(await open('bold'), 20, (message) => said.push(message));
    expect(said).toEqual([
      '2 of 3 tasks ask for more turns (max_steps, up to 40) than rollout.max_turns, 20, and end there: "a", "c". rollout.max_turns: 40 plays them whole',
    ]);
    const enough = await openTasks(mixed, [{ source_type: 'mixed' }], {}, { maxTurns: 40 });
    warnOfCutTasks(enough, 40, (message) => said.push(message));
    expect(said).toHaveLength(1);
  });
});

describe('a goal that is trained and evaluated', () => {
  const goal = (options: object, extra: object = {}): Task => ({
    id: JSON.stringify([options, extra]),
    description: 'Type row 1',
    environment: { kind: 'browser', options: { page: 'form', ...options } },
    ...extra,
  });
  const share = async (training: Task, evaluation: Task) => {
    const both = new ComponentRegistry([source('t', [training]), source('e', [evaluation])]);
    const [tasks, evalTasks] = await Promise.all(
      ['t', 'e'].map((source_type) => openTasks(both, [{ source_type }])),
    );
    return refuseSharedGoals(tasks, evalTasks);
  };

  it.each([
    ['its id', goal({}), goal({}, { id: 'other' })],
    ['where it begins', goal({ reset: { start: { screen: 'home' } } }), goal({ reset: { start: 1 } })],
    ['the start of the task', goal({}), goal({}, { start: { screen: 'home' } })],
    ['the order of its fields', goal({ reset: { a: 1, b: 2 } }), goal({ reset: { b: 2, a: 1 } })],
    ['upper case and the full stop', goal({}), goal({}, { id: 'o', description: 'type row 1.' })],
  ])('is the same where %s differs', async (_what, training, evaluation) => {
    await expect(share(training, evaluation)).rejects.toThrow(/a goal is in tasks, too: "Type row 1"/);
  });

  it.each([
    ['the sheet', goal({ reset: { rows: [1] } }), goal({ reset: { rows: [2] } })],
    ['the type of the session', goal({ session_type: 'a' }), goal({ session_type: 'b' })],
    ['the page', goal({}), goal({ page: 'other' })],
    [
      'the application',
      goal({ page: undefined, application: 'a' }),
      goal({ page: undefined, application: 'b' }),
    ],
    ['what the page itself says', goal({}, { goalFrom: 'goal' }), goal({}, { goalFrom: 'goal' })],
    ['what the page of one of them says', goal({}, { goalFrom: 'goal' }), goal({})],
    ['what the page of the other says', goal({}), goal({}, { goalFrom: 'goal' })],
  ])('is another where %s differs', async (_what, training, evaluation) => {
    expect(await share(training, evaluation)).toBeUndefined();
  });
});
