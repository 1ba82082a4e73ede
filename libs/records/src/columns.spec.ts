import type { RunEvent, Trajectory } from '@ui-rl/contracts';
import { backends, trajectory, type Bed } from '../test/bed';
import {
  type Database,
  type EpisodeFilter,
  listEpisodes,
  listFailedChecks,
  listRunIds,
  listRuns,
  migrate,
  readRunOptions,
  readTaskHeatMap,
  record,
} from '.';

const AT = '2026-01-01T00:00:00.000Z';

describe.each(backends)('columns of runs and tasks on %s', (_name, start) => {
  let bed: Bed;
  let database: Database;
  let recorded = 0;
  const recordAll = (events: RunEvent[], trajectories: Trajectory[] = []) =>
    record(database.dataSource, {
      trajectories,
      events: events.map((event) => ({ key: `${(recorded += 1)}`, event })),
    });

  beforeAll(async () => {
    bed = await start();
    ({ database } = bed);
    await migrate(database.dataSource);
  });

  afterAll(() => bed.stop());

  test('a listed run has its success in training at a few steps, and keeps these points while it grows', async () => {
    const step = (number: number, metrics: Record<string, number>) =>
      ({ type: 'train_step', runId: 'curve', at: AT, step: number, rolloutIds: [], metrics }) as RunEvent;
    const created = (runId: string) =>
      ({ type: 'run_created', runId, at: AT, config: { name: runId } }) as RunEvent;
    const first = Array.from({ length: 32 }, (_, index) =>
      step(index + 1, { 'env/all/success': (index + 1) / 100, 'optim/loss': 1 }),
    );
    await recordAll([created('curve'), created('none'), ...first]);
    const rates = async (): Promise<(number[] | undefined)[]> => {
      const runs = await listRuns(database.dataSource);
      return ['curve', 'none'].map((id) => runs.find((run) => run.id === id)?.successRates);
    };
    const all = first.map((_, index) => (index + 1) / 100);
    expect(await rates()).toEqual([all, []]);
    // Step 33 leaves every second one and the newest; a step without a judged episode has no point.
    await recordAll([step(33, { 'env/all/success': 1 / 3 })]);
    const [odd] = await rates();
    expect(odd).toEqual([...all.filter((_, index) => index % 2 === 1), 0.33]);
    await recordAll([step(34, { 'optim/loss': 1 })]);
    expect((await rates())[0]).toEqual(all.filter((_, index) => index % 2 === 1));
  });

  test('the options of runs are read without their help, or as the run file', async () => {
    const option = (path: string, value?: unknown) => ({
      ...{ path, doc: 'help', expected: 'a number', differs: true },
      ...(value === undefined ? {} : { value }),
    });
    const configuration = [
      { path: '', doc: '', options: [option('tasks', 'demo'), option('unset')] },
      { path: 'training', doc: '', options: [option('training.seed', 0), option('training.list', [1])] },
    ];
    await recordAll([
      {
        type: 'run_created',
        runId: 'described',
        at: AT,
        config: { tasks: 'demo' },
        configuration,
      },
      { type: 'run_created', runId: 'by-hand', at: AT, config: { tasks: 'other' } },
    ]);
    const ids = await listRunIds(database.dataSource, { search: 'd', sort: 'id', order: 'asc' });
    expect(ids).toEqual(['by-hand', 'described']);
    expect(await readRunOptions(database.dataSource, ids)).toEqual([
      { id: 'by-hand', values: null, config: { tasks: 'other' } },
      { id: 'described', values: { tasks: 'demo', 'training.seed': 0, 'training.list': [1] }, config: null },
    ]);
  });

  test('failed checks are listed and found; invalid episodes and those without a state have none', async () => {
    const checks = [
      { path: 'wifi', operator: 'equals', value: true },
      { path: 'volume', operator: 'at_least', value: 40 },
      { kind: 'text', contains: "it's 100 %" },
      { kind: 'answer', value: 'blue' },
    ];
    const found = (holds: boolean) => ({ $checks: { 2: { holds, found: '' } } });
    const played = (id: string, changes: Partial<Trajectory>): Trajectory => {
      const made = trajectory(id, changes);
      Object.assign(made.request, { runId: 'checked', task: { ...made.request.task, checks } });
      return made;
    };
    const [turn] = trajectory('any').turns;
    const said = [Object.assign({}, turn, { actions: [{ action: 'finish', message: ' Blue. ' }] })];
    const state = { wifi: true, volume: 10 };
    await recordAll(
      [],
      [
        played('c0', { finalState: { ...state, ...found(true) }, turns: said }),
        played('c1', { finalState: { volume: 50, ...found(false) } }),
        played('c2', { status: 'invalid', finalState: {}, success: undefined }),
        played('c3', {}),
        played('c4', { finalState: { wifi: true, volume: 50, ...found(true) }, turns: said }),
      ],
    );
    const text = `text {"contains":"it's 100 %"}`;
    expect(await listFailedChecks(database.dataSource, 'checked')).toEqual([
      { text: 'answer {"value":"blue"}', episodes: 1 },
      { text, episodes: 1 },
      { text: 'volume at least 40', episodes: 1 },
      { text: 'wifi equals true', episodes: 1 },
    ]);
    const ids = async (failedCheck: string): Promise<string[]> => {
      const { episodes } = await listEpisodes(database.dataSource, { runId: 'checked', failedCheck });
      return episodes.map(({ id }) => id).toSorted();
    };
    expect(await ids('volume at least 40')).toEqual(['c0']);
    expect(await ids(text)).toEqual(['c1']);
    expect(await ids('volume')).toEqual([]);
    expect(await listFailedChecks(database.dataSource, 'no-such-run')).toEqual([]);
  });

  test('a heat map counts judged training episodes by task and version, in a bounded number of columns', async () => {
    const runId = 'heat';
    expect(await readTaskHeatMap(database.dataSource, runId)).toEqual({
      width: 1,
      from: [],
      total: 0,
      tasks: [],
    });
    const played = (id: string, version: number, task: string, changes: Partial<Trajectory>): Trajectory => {
      const made = trajectory(id, changes, version);
      Object.assign(made.request, { runId, task: { id: task, description: `Do ${task}` } });
      return made;
    };
    const ended = [
      played('h0', 0, 'a', { success: true }),
      played('h1', 0, 'a', { success: false }),
      played('h2', 3, 'a', { success: true }),
      played('h3', 0, 'b', { success: false }),
      played('h4', 3, 'b', { success: undefined }),
      played('h5', 3, 'b', { success: false, status: 'invalid' }),
    ];
    const evaluated = played('h6', 9, 'a', { success: true });
    Object.assign(evaluated.request, { purpose: 'eval' });
    await recordAll([], [...ended, evaluated]);
    expect(await readTaskHeatMap(database.dataSource, runId)).toEqual({
      ...{ width: 1, from: [0, 1, 2, 3], total: 2 },
      tasks: [
        { taskId: 'b', description: 'Do b', successes: 0, episodes: 1, cells: [[0, 1], null, null, null] },
        { taskId: 'a', description: 'Do a', successes: 2, episodes: 3, cells: [[1, 2], null, null, [1, 1]] },
      ],
    });
    const of = async (filter: Partial<EpisodeFilter>): Promise<string> => {
      const { episodes } = await listEpisodes(database.dataSource, { runId, purpose: 'train', ...filter });
      return episodes
        .map(({ id }) => id)
        .toSorted()
        .join();
    };
    expect(await of({ taskId: 'a', minVersion: 0, maxVersion: 0 })).toBe('h0,h1');
    expect(await of({ minVersion: 1 })).toBe('h2,h4,h5');
    await recordAll([], [played('h7', 119, 'a', { success: true })]);
    const { width, from, tasks } = await readTaskHeatMap(database.dataSource, runId);
    expect([width, from.length, from.at(-1), tasks[1].cells.at(-1)]).toEqual([5, 24, 115, [1, 1]]);
    await recordAll([], [played('h8', 120, 'a', { success: true })]);
    expect(await readTaskHeatMap(database.dataSource, runId)).toMatchObject({
      width: 10,
      from: { length: 13 },
    });
  });
});
