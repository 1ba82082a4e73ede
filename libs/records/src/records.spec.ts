import { getMetadataStorage } from 'class-validator';
import { encodeKeptTokens, Turn, type RunEvent, type RunPhase, type Trajectory } from '@ui-rl/contracts';
import { backends, RUN, trajectory, type Bed } from '../test/bed';
import {
  type Database,
  findConfiguration,
  findEpisode,
  findRun,
  listEpisodes,
  listInProgress,
  listMetrics,
  listRuns,
  listTrajectories,
  migrate,
  readCurves,
  readTaskScores,
  record,
} from '.';

const AT = '2026-11-20T10:16:00.000Z';

const CONFIGURATION = [
  {
    path: 'training',
    doc: 'how many steps',
    options: [{ path: 'training.max_steps', doc: 'at most', expected: 'a number', value: 3, differs: true }],
  },
];

/** The validated fields of its messages. */
function fieldsOf(type: new () => object): string[] {
  const checks = getMetadataStorage().getTargetValidationMetadatas(type, '', true, false);
  return [...new Set(checks.map(({ propertyName }) => propertyName))].toSorted();
}

function keyed(event: Omit<RunEvent, 'runId' | 'at'> & { at?: string }, key: string) {
  return { key, event: { runId: RUN, at: '2026-11-20T10:16:00.000Z', ...event } as RunEvent };
}

describe.each(backends)('records on %s', (_name, start) => {
  let bed: Bed;
  let database: Database;

  beforeAll(async () => {
    bed = await start();
    ({ database } = bed);
    await migrate(database.dataSource);
  });

  afterAll(() => bed.stop());

  const recordAll = (trajectories: Trajectory[], events: ReturnType<typeof keyed>[] = []) =>
    record(database.dataSource, { trajectories, events });

  test('a turn keeps its actions in order, what it was paid and who sampled it, an episode the state it began in', async () => {
    const paid = trajectory('r-paid', {
      initialState: { screen: 'home' },
      finalState: { screen: 'settings' },
      reward: 0.75,
      rewards: { near: 0.25, done: 0.5 },
      verdicts: { judge: true },
    });
    const actions = [
      { action: 'click', x: 1, y: 2 },
      { action: 'type', text: 'milk' },
    ];
    const policySpans = [7, 8].map((version) => ({ version, digest: `d${version}`, tokens: 1 }));
    Object.assign(paid.turns[0], { actions, reward: 0.25, rewards: { near: 0.25 }, policySpans });
    await recordAll([paid]);
    expect(await findEpisode(database.dataSource, 'r-paid')).toMatchObject({
      initialState: { screen: 'home' },
      finalState: { screen: 'settings' },
      rewards: { near: 0.25, done: 0.5 },
      verdicts: { judge: true },
      turns: [{ actions, reward: 0.25, rewards: { near: 0.25 }, policySpans }],
    });
    await database.dataSource.query(`DELETE FROM runs`);
  });

  test('an episode is given back as it was published, so that it can be trained', async () => {
    const published = trajectory('r-whole', {
      finalScreenshot: 'b'.repeat(64),
      finalState: { on: true },
      verdicts: { judge: true, other: false },
      environment: { kind: 'browser', instance: 'e1', width: 160, height: 224, openedAt: AT },
      times: { opening: 1.5, playing: 800, closing: 20, judging: 3, storing: 0 },
      verifier: 'state',
      firstSuccess: 0,
    });
    Object.assign(published.turns[0], {
      keptTokens: encodeKeptTokens([[3, 4, 9], []]),
      policySpans: [7, 8].map((version) => ({ version, digest: `d${version}`, tokens: 1 })),
      parseError: 'half an action',
      screenText: 'page "Settings"',
      tokenTexts: ['{"action"', ''],
      promptText: '<|im_start|>user\n\uFFFC Enable Wi-Fi',
      reward: 0.25,
      rewards: { near: 0.25 },
    });
    // Every field that a turn may have.
    expect(Object.keys(published.turns[0]).toSorted()).toEqual(fieldsOf(Turn));
    await recordAll([published]);
    const { trajectories } = await listTrajectories(database.dataSource, { runId: RUN });
    expect(trajectories).toEqual([published]);
    await database.dataSource.query(`DELETE FROM runs`);
  });

  test('an episode tells what went wrong in its turns, and what the agent said of its success', async () => {
    const turn = (changes: Partial<Turn> = {}) => Object.assign({}, trajectory('r').turns[0], changes);
    const click = [{ action: 'click', x: 1, y: 2 }];
    const unread = (parseError: string) => turn({ actions: [], parseError, outcome: 'no_action' });
    const turns = [
      ...[
        unread('no_action: Answer with JSON.'),
        unread('unknown_action: fly'),
        unread('out_of_range: x: y'),
      ],
      ...[turn(), turn({ outcome: 'outside_viewport' }), turn({ actions: click }), turn()],
      turn({ actions: [...click, { action: 'finish', success: true }] }),
    ].map((each, index) => Object.assign(each, { index }));
    await recordAll([trajectory('r-faults', { turns, success: false }), trajectory('r-plain')]);
    expect(await findEpisode(database.dataSource, 'r-faults')).toMatchObject({
      ...{ success: false, reportedSuccess: true, environment: null, times: null },
      faults: { parseErrors: 1, toolErrors: 1, argumentErrors: 1, runtimeErrors: 1, repeatedActions: 3 },
    });
    expect(await findEpisode(database.dataSource, 'r-plain')).toMatchObject({
      reportedSuccess: null,
      faults: { parseErrors: 0, runtimeErrors: 0, repeatedActions: 0 },
    });
    await database.dataSource.query(`DELETE FROM runs`);
  });

  test('a rollout in progress is as far as its actor said last, until its episode is recorded', async () => {
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
    const progress = (at: string, turns: number) => {
      const rollout = { rolloutId: 'r-slow', purpose: 'train', task: 'wifi', phase: 'playing', maxTurns: 20 };
      const rollouts = [{ ...rollout, turns, since: ago(900) }];
      return keyed({ type: 'rollout_progress', actor: 'actor-2', rollouts, at } as never, `p-${at}`);
    };
    const started = { type: 'rollout_started', actor: 'actor-1', at: ago(900) } as const;
    await recordAll(
      [],
      [
        keyed({ ...started, rolloutId: 'r-slow' } as never, 'slow'),
        keyed({ ...started, rolloutId: 'r-gone' } as never, 'gone'),
        progress(ago(5), 3),
      ],
    );
    // Redelivered late.
    await recordAll([], [progress(ago(15), 2)]);
    const listed = await listInProgress(database.dataSource, RUN);
    expect(listed).toMatchObject([
      { rolloutId: 'r-slow', actor: 'actor-2', task: 'wifi', phase: 'playing', turns: 3, maxTurns: 20 },
    ]);
    const run = await findRun(database.dataSource, RUN);
    expect(run).toMatchObject({ inProgress: 1, services: [{ service: 'actor', sign: 'plays an episode' }] });
    await recordAll([trajectory('r-slow')]);
    expect(await listInProgress(database.dataSource, RUN)).toEqual([]);
    await database.dataSource.query(`DELETE FROM runs`);
  });

  test('an episode has what the first step that trained on it did with each token, also if that is recorded first', async () => {
    const turns = [{ index: 0, advantages: [-1, -1], weights: [0.5, 0], logprobs: [-0.3, -0.5] }];
    const trained = (step: number, advantage: number | null) =>
      keyed(
        {
          ...{ type: 'trained_tokens', step },
          episodes: [
            { rolloutId: 'r-trained', advantage, turns },
            { rolloutId: 'r-beyond', advantage: 1, turns: [] },
          ],
        } as never,
        `tokens-${step}`,
      );
    await recordAll([], [trained(4, -1), trained(5, null)]);
    const [before, beyond] = [trajectory('r-trained'), trajectory('r-beyond')];
    before.turns.push(Object.assign({}, before.turns[0], { index: 1, tokenTexts: ['a', 'b'] }));
    await recordAll([before, beyond], [trained(4, 9)]);
    const { index: _index, ...numbers } = turns[0];
    expect(await findEpisode(database.dataSource, 'r-trained')).toMatchObject({
      advantage: -1,
      turns: [
        { trained: numbers, tokenTexts: null },
        { trained: null, tokenTexts: ['a', 'b'] },
      ],
    });
    expect(await findEpisode(database.dataSource, 'r-beyond')).toMatchObject({
      advantage: 1,
      turns: [{ trained: null }],
    });
    expect((await findRun(database.dataSource, RUN))?.log).toEqual([]);
    await database.dataSource.query(`DELETE FROM runs`);
    expect(await database.dataSource.query(`SELECT * FROM trained_episodes`)).toEqual([]);
  });

  test('curves have the wanted metrics, and sums of tokens and episodes', async () => {
    const step = (number: number, metrics: Record<string, number>, rolloutIds: string[]) =>
      keyed({ type: 'train_step', step: number, rolloutIds, metrics } as never, `curve-${number}`);
    const metrics = { 'optim/tokens': 30, 'optim/loss': 0.5, 'a,b': 2 };
    await recordAll([], [step(1, metrics, ['a', 'b']), step(2, { 'optim/tokens': 12 }, ['c'])]);
    const { steps } = await readCurves(database.dataSource, RUN, ['a,b', 'optim/unknown']);
    expect(steps).toMatchObject({ step: [1, 2], tokens: [30, 42], episodes: [2, 3] });
    expect(steps.metrics).toEqual({ 'a,b': [2, null] });
    expect(await listMetrics(database.dataSource, RUN)).toEqual(['a,b', 'optim/loss', 'optim/tokens']);
    expect((await readCurves(database.dataSource, RUN, [])).steps.metrics).toEqual({});
    await database.dataSource.query(`DELETE FROM runs`);
  });

  test('a rollout id is recorded once, with the turns of its first version only', async () => {
    const first = trajectory('r-once');
    const longer = trajectory('r-once', {
      turns: [first.turns[0], Object.assign({}, first.turns[0], { index: 1 })],
      reward: 0,
    });
    expect(await recordAll([first, longer])).toEqual({ newTrajectories: ['r-once'] });
    expect(await recordAll([longer])).toEqual({ newTrajectories: [] });
    const episode = await findEpisode(database.dataSource, 'r-once');
    expect(episode).toMatchObject({ reward: 1, success: true, turnCount: 1, tokenCount: 2, source: 'demo' });
    expect(episode?.turns).toEqual([
      expect.objectContaining({ tokenIds: [4, 5], logprobs: [-0.25, -0.5], promptTokens: 3, policyMs: 12.5 }),
    ]);
  });

  test('text that PostgreSQL cannot hold is stored with replacement characters', async () => {
    const odd = trajectory('r-odd');
    odd.turns[0].text = 'a\u0000b\ud800c\u{1f600}';
    odd.finalState = { note: '\u0000' };
    await recordAll([odd]);
    const episode = await findEpisode(database.dataSource, 'r-odd');
    expect(episode?.turns[0].text).toBe('a\ufffdb\ufffdc\u{1f600}');
    expect(episode?.finalState).toEqual({ note: '\ufffd' });
  });

  test('an episode without turns and without verdict keeps its nulls', async () => {
    await recordAll([
      trajectory('r-invalid', {
        status: 'invalid',
        invalidReason: 'page crashed',
        success: null,
        reward: 0,
        turns: [],
      }),
    ]);
    const episode = await findEpisode(database.dataSource, 'r-invalid');
    expect(episode).toMatchObject({
      success: null,
      policyVersion: null,
      invalidReason: 'page crashed',
      turns: [],
    });
    expect(await findEpisode(database.dataSource, 'r-none')).toBeNull();
  });

  test('events are recorded once by key, and show in the run, its curves and its task scores', async () => {
    const evaluation = (
      stage: 'baseline' | 'final',
      successes: number | null,
      at: string,
      set = 'eval_goals',
    ) =>
      keyed(
        {
          type: 'evaluation',
          evaluationId: `e-${stage}-${set}`,
          stage,
          set,
          policyVersion: stage === 'final' ? 4 : 0,
          checkpoint: 'c',
          successRate: successes === null ? null : successes / 4,
          interval: successes === null ? [0, 1] : [0.1, 0.9],
          episodes: successes === null ? 0 : 4,
          invalid: successes === null ? 4 : 0,
          tasks: successes === null ? [] : [{ taskId: 'eval_01', description: 'Do', successes, episodes: 4 }],
          at,
        } as never,
        `e-${stage}-${set}`,
      );
    const events = [
      keyed(
        {
          type: 'run_created',
          config: { name: 'demo' },
          configuration: CONFIGURATION,
          at: '2026-11-20T10:14:00.000Z',
        } as never,
        'created',
      ),
      keyed({ type: 'phase', phase: 'training', at: '2026-11-20T10:15:00.000Z' } as never, 'p2'),
      keyed({ type: 'phase', phase: 'baseline', at: '2026-11-20T10:14:00.000Z' } as never, 'p1'),
      keyed(
        { type: 'train_step', step: 4, rolloutIds: ['r-once'], metrics: { 'optim/loss': 0.5 } } as never,
        's4',
      ),
      keyed({ type: 'checkpoint', step: 4, name: 'c4', path: '/x', adapterDigest: 'd' } as never, 'c4'),
      keyed(
        { type: 'rollout_started', rolloutId: 'r-now', actor: 'a', at: new Date().toISOString() } as never,
        'x',
      ),
      keyed({ type: 'warning', service: 'learner', code: 'kl', message: 'high' } as never, 'w'),
      keyed({ type: 'dead_letter', service: 'actor', subject: 's', key: 'k', reason: 'bad' } as never, 'sa'),
      evaluation('baseline', 1, '2026-11-20T10:14:30.000Z'),
      evaluation('final', 3, '2026-11-20T10:19:30.000Z'),
      evaluation('final', null, '2026-11-20T10:19:31.000Z', 'train_goals'),
    ];
    await recordAll([], events);
    await recordAll([], events);
    const run = await findRun(database.dataSource, RUN);
    expect(run).toMatchObject({
      phase: 'training',
      config: { name: 'demo' },
      steps: 4,
      inProgress: 1,
      invalid: 1,
    });
    expect(run?.createdAt).toBe('2026-11-20T10:14:00.000Z');
    expect(await findConfiguration(database.dataSource, RUN)).toEqual({
      config: { name: 'demo' },
      configuration: CONFIGURATION,
    });
    expect(await findConfiguration(database.dataSource, 'none')).toBeNull();
    expect(run?.checkpoints).toHaveLength(1);
    expect(
      run?.evaluations.map(({ stage, successRate, meanReward }) => [stage, successRate, meanReward]),
    ).toEqual([
      ['baseline', 0.25, null],
      ['final', 0.75, null],
      ['final', null, null],
    ]);
    expect(run?.log.map((entry) => entry.type).toSorted()).toEqual([
      'dead_letter',
      'phase',
      'phase',
      'warning',
    ]);
    expect((await findEpisode(database.dataSource, 'r-once'))?.trainedInStep).toBe(4);
    expect(await readTaskScores(database.dataSource, RUN)).toEqual([
      {
        set: 'eval_goals',
        taskId: 'eval_01',
        description: 'Do',
        before: { successes: 1, episodes: 4 },
        after: { successes: 3, episodes: 4 },
        change: {
          ...{ value: 0.5, interval: [expect.closeTo(-0.135, 3), expect.closeTo(0.789, 3)] },
          isSignificant: false,
        },
      },
    ]);
    expect((await listRuns(database.dataSource)).map(({ id }) => id)).toEqual([RUN]);
  });

  test('intervals of the throughput say how much of them was recorded', async () => {
    const runId = 'paced';
    const from = Date.parse('2026-01-01T00:00:05.000Z');
    const trajectories = Array.from({ length: 10 }, (_, index) => {
      const played = trajectory(`paced-${index}`, {
        startedAt: new Date(from + index * 2_000).toISOString(),
        finishedAt: new Date(from + (index + 1) * 2_000).toISOString(),
      });
      Object.assign(played.request, { runId });
      return played;
    });
    const over = { type: 'phase', runId, phase: 'finished', at: '2026-01-01T00:00:30.000Z' } as RunEvent;
    await record(database.dataSource, { trajectories, events: [{ key: 'paced', event: over }] });
    const { throughput } = await readCurves(database.dataSource, runId);
    expect(throughput).toMatchObject({ seconds: 10, covered: [5, 10, 5], episodes: [2, 5, 3] });
  });

  test('an evaluation without a rate has the mean reward of its valid episodes', async () => {
    const paid = (id: string, changes: object) => {
      const played = trajectory(id, { success: null, ...changes });
      Object.assign(played.request, { runId: 'paid', evaluationId: 'e-paid', purpose: 'eval' });
      return played;
    };
    const event = {
      ...{ type: 'evaluation', runId: 'paid', evaluationId: 'e-paid', set: 'eval_goals', stage: 'final' },
      ...{
        policyVersion: 1,
        checkpoint: 'c',
        successRate: null,
        interval: [0, 1],
        at: '2026-11-20T10:00:00.000Z',
      },
      ...{ episodes: 0, unjudged: 2, invalid: 1, tasks: [] },
    };
    await recordAll(
      [
        paid('paid-1', { reward: 0.25 }),
        paid('paid-2', { reward: 0.5 }),
        paid('paid-3', { reward: 9, status: 'invalid', invalidReason: 'x' }),
      ],
      [keyed(event as never, 'e-paid')],
    );
    const run = await findRun(database.dataSource, 'paid');
    expect(run?.evaluations).toMatchObject([{ successRate: null, meanReward: 0.375 }]);
    await database.dataSource.query("DELETE FROM runs WHERE id = 'paid'");
  });

  test('a later phase is shown also where the clock of who wrote it is behind, an older one only where it is newer', async () => {
    const phaseAfter = async (phase: RunPhase, at: string) => {
      const event = { type: 'phase', runId: 'clocks', phase, at: `2026-11-20T${at}:00.000Z` };
      await recordAll([], [keyed(event as never, `${phase} ${at}`)]);
      return (await findRun(database.dataSource, 'clocks'))?.phase;
    };
    expect(await phaseAfter('training', '10:00')).toBe('training');
    expect(await phaseAfter('final_eval', '12:01')).toBe('final_eval');
    expect(await phaseAfter('finished', '10:02')).toBe('finished');
    expect(await phaseAfter('baseline', '09:59')).toBe('finished');
    // The broker lost its end with its store.
    expect(await phaseAfter('final_eval', '12:05')).toBe('final_eval');
    await database.dataSource.query("DELETE FROM events WHERE run_id = 'clocks'");
    await database.dataSource.query("DELETE FROM runs WHERE id = 'clocks'");
  });

  test('curves leave invalid episodes out of the rate and count them', async () => {
    await recordAll([
      trajectory('r-v5-a', { success: true }, 5),
      trajectory('r-v5-b', { success: false, reward: 0 }, 5),
      trajectory('r-v5-c', { status: 'invalid', success: null, reward: 0 }, 5),
    ]);
    const { training, steps, throughput } = await readCurves(database.dataSource, RUN);
    const at = training.version.indexOf(5);
    expect(training.successRate[at]).toBe(0.5);
    expect(training.reward[at]).toBe(0.5);
    expect(training.episodes[at]).toBe(3);
    expect(training.invalid[at]).toBe(1);
    expect(steps).toEqual({
      ...{ step: [4], at: [Date.parse('2026-11-20T10:16:00.000Z') / 1_000], tokens: [0], episodes: [1] },
      metrics: { 'optim/loss': [0.5] },
    });
    expect(throughput.episodes.reduce((sum, count) => sum + count, 0)).toBe(6);
  });

  test('episodes come page by page and by filter', async () => {
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = await listEpisodes(database.dataSource, { runId: RUN, limit: 2, before });
      seen.push(...page.episodes.map(({ id }) => id));
      before = page.cursor ?? undefined;
    } while (before !== undefined);
    expect(new Set(seen).size).toBe(6);
    expect(seen).toHaveLength(6);
    const ids = async (filter: object) =>
      (await listEpisodes(database.dataSource, { runId: RUN, ...filter })).episodes
        .map(({ id }) => id)
        .toSorted();
    expect(await ids({ success: 'no' })).toEqual(['r-v5-b']);
    expect(await ids({ status: 'invalid' })).toEqual(['r-invalid', 'r-v5-c']);
    expect(await ids({ success: 'unknown' })).toEqual([]);
    expect(await ids({ task: 'WI-FI' })).toHaveLength(6);
    expect(await ids({ task: '%' })).toEqual([]);
    expect(await ids({ purpose: 'eval' })).toEqual([]);
    expect(await ids({ before: 'nonsense' })).toHaveLength(6);
  });

  test('a batch that fails leaves nothing behind', async () => {
    const broken = trajectory('r-broken', { reward: 'much' as never });
    await expect(recordAll([trajectory('r-fine'), broken])).rejects.toThrow(/double precision/);
    expect(await findEpisode(database.dataSource, 'r-fine')).toBeNull();
  });
});
