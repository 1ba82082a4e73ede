import type { RunEvent } from '@ui-rl/contracts';
import { backends, trajectory, type Bed } from '../test/bed';
import {
  type Database,
  editRun,
  type EpisodeFilter,
  type EpisodePage,
  findRun,
  listEpisodes,
  listRuns,
  listTrajectories,
  migrate,
  record,
  type RunFilter,
} from '.';

describe.each(backends)('lists on %s', (_name, start) => {
  let bed: Bed;
  let database: Database;

  beforeAll(async () => {
    bed = await start();
    ({ database } = bed);
    await migrate(database.dataSource);
  });

  afterAll(() => bed.stop());

  test('runs are listed in pages and found by a part of their id; the wildcards of LIKE are letters', async () => {
    const ids = ['list-a', 'list-b', 'list_c'];
    const at = '2020-01-01T00:00:00.000Z';
    await record(database.dataSource, {
      trajectories: [],
      events: ids.map((runId) => ({
        ...{ key: runId, event: { type: 'run_created', runId, at, config: { name: runId } } },
      })),
    });
    const found = async (filter: RunFilter) =>
      (await listRuns(database.dataSource, filter)).map(({ id }) => id);
    expect((await found({ search: 'LIST' })).toSorted()).toEqual(ids);
    expect(await found({ search: 't_c' })).toEqual(['list_c']);
    expect(await found({ search: '%' })).toEqual([]);
    const pages: string[] = [];
    for (let before = ''; ;) {
      const [run] = await listRuns(database.dataSource, { search: 'list', before, limit: 1 });
      if (run === undefined) break;
      pages.push(run.id);
      before = run.id;
    }
    expect(pages.toSorted()).toEqual(ids);
    expect(await found({ search: 'list', before: 'no run' })).toHaveLength(3);
  });

  test('runs are named, tagged and archived; a search finds what people wrote, lists leave archived ones out', async () => {
    const at = '2020-01-03T00:00:00.000Z';
    const events = ['label-a', 'label-b'].map((runId) => ({
      ...{ key: runId, event: { type: 'run_created' as const, runId, at, config: { name: runId } } },
    }));
    await record(database.dataSource, { trajectories: [], events });
    const found = async (filter: RunFilter) =>
      (await listRuns(database.dataSource, filter)).map(({ id }) => id);
    const labels = { name: 'Wider LoRA', notes: 'rank 64,\nsame seed', tags: ['paper', '100%'] };
    expect(await editRun(database.dataSource, 'label-a', labels)).toEqual({ ...labels, archived: false });
    for (const search of ['wider', 'SAME', 'aper', '100%']) {
      expect(await found({ search })).toEqual(['label-a']);
    }
    expect(await found({ search: 'paper100' })).toEqual([]);
    expect(await editRun(database.dataSource, 'label-a', { archived: true })).toMatchObject(labels);
    expect(await found({ search: 'label-' })).toEqual(['label-b']);
    expect((await found({ search: 'label-', archived: 'yes' })).toSorted()).toEqual(['label-a', 'label-b']);
    expect(await findRun(database.dataSource, 'label-a')).toMatchObject({ ...labels, archived: true });
    // A run that begins again keeps them.
    await record(database.dataSource, { trajectories: [], events });
    expect(await editRun(database.dataSource, 'label-a', {})).toEqual({ ...labels, archived: true });
    expect(await editRun(database.dataSource, 'no-such-run', { name: 'x' })).toBeNull();
    await editRun(database.dataSource, 'label-b', { name: 'a\0b', tags: [] });
    expect(await findRun(database.dataSource, 'label-b')).toMatchObject({ name: 'a\uFFFDb', tags: [] });
  });

  test('runs are sorted by what they are asked for, across pages', async () => {
    const of = (runId: string, event: object, key: string) => ({
      key,
      event: { runId, at: '2020-01-02T00:00:00.000Z', ...event } as RunEvent,
    });
    const runs = ['sort-a', 'sort-b', 'sort-c'];
    const evaluated = (runId: string, stage: string, successRate: number) =>
      of(
        runId,
        {
          ...{ type: 'evaluation', evaluationId: stage, stage, set: 'eval_goals', policyVersion: 0 },
          ...{ checkpoint: 'base', successRate, interval: [0, 1], episodes: 1, invalid: 0, tasks: [] },
        },
        `${runId}-${stage}`,
      );
    const trajectories = ['sort-a', 'sort-c', 'sort-c'].map((runId, index) => {
      const played = trajectory(`sort-r${index}`);
      Object.assign(played.request, { runId });
      return played;
    });
    const events = [
      ...runs.map((runId) => of(runId, { type: 'run_created', config: { name: runId } }, runId)),
      of('sort-b', { type: 'train_step', step: 7, rolloutIds: [], metrics: {} }, 'sort-b-7'),
      of('sort-a', { type: 'train_step', step: 3, rolloutIds: [], metrics: {} }, 'sort-a-3'),
      evaluated('sort-a', 'final', 0.5),
      evaluated('sort-b', 'baseline', 0.9),
      evaluated('sort-c', 'final', 0.75),
    ];
    await record(database.dataSource, { trajectories, events });
    const sorted = async (filter: RunFilter): Promise<string> => {
      const ids: string[] = [];
      for (;;) {
        const page = { ...filter, search: 'sort-', limit: 1, before: ids.at(-1) };
        const [run] = await listRuns(database.dataSource, page);
        if (run === undefined) return ids.map((id) => id.slice(-1)).join('');
        ids.push(run.id);
      }
    };
    expect(await sorted({ sort: 'steps' })).toBe('bac');
    expect(await sorted({ sort: 'episodes', order: 'asc' })).toBe('bac');
    expect(await sorted({ sort: 'success' })).toBe('cab');
    expect(await sorted({ sort: 'id', order: 'asc' })).toBe('abc');
  });

  test('episodes are filtered and sorted, across pages and with equal values', async () => {
    const runId = 'sorted-episodes';
    const from = Date.parse('2026-01-01T00:00:00.000Z');
    const [turn] = trajectory('any').turns;
    const rewards = [0.5, 0.1, 0.5, 1e-7];
    const trajectories = rewards.map((reward, index) => {
      const played = trajectory(`s${index}`, {
        reward,
        status: index === 3 ? 'truncated' : 'completed',
        turns: Array.from({ length: 4 - index }, (_, place) =>
          Object.assign({}, turn, {
            index: place,
            parseError: index === 1 && place === 2 ? 'no JSON' : undefined,
          }),
        ),
        startedAt: new Date(from).toISOString(),
        finishedAt: new Date(from + [3_000, 500, 1_250, 60_000][index]).toISOString(),
      });
      Object.assign(played.request, { runId });
      return played;
    });
    const step = { type: 'train_step', runId, step: 4, rolloutIds: ['s0', 's2'], metrics: {} };
    const event = { ...step, at: '2026-01-01T00:02:00.000Z' } as RunEvent;
    await record(database.dataSource, { trajectories, events: [{ key: 'sorted-4', event }] });
    const ids = async (filter: Omit<EpisodeFilter, 'runId'>): Promise<string> => {
      const all: string[] = [];
      for (let before: string | null = ''; before !== null;) {
        const page: EpisodePage = await listEpisodes(database.dataSource, {
          ...filter,
          ...{ runId, before, limit: 1 },
        });
        all.push(...page.episodes.map(({ id }) => id));
        before = page.cursor;
      }
      return all.join(' ');
    };
    expect(await ids({})).toBe('s3 s0 s2 s1');
    expect(await ids({ order: 'asc' })).toBe('s1 s2 s0 s3');
    expect(await ids({ sort: 'reward' })).toBe('s2 s0 s1 s3');
    expect(await ids({ sort: 'reward', order: 'asc' })).toBe('s3 s1 s0 s2');
    expect(await ids({ sort: 'turns' })).toBe('s0 s1 s2 s3');
    expect(await ids({ sort: 'tokens', order: 'asc' })).toBe('s3 s2 s1 s0');
    expect(await ids({ sort: 'duration' })).toBe('s3 s0 s2 s1');
    expect(await ids({ step: 4 })).toBe('s0 s2');
    expect(await ids({ step: 5 })).toBe('');
    expect(await ids({ minReward: 0.1, maxReward: 0.4 })).toBe('s1');
    expect(await ids({ minTurns: 2, maxTurns: 3 })).toBe('s2 s1');
    expect(await ids({ parseFailure: 'yes' })).toBe('s1');
    expect(await ids({ parseFailure: 'no', status: 'completed' })).toBe('s0 s2');
    const { trajectories: played } = await listTrajectories(database.dataSource, { runId, sort: 'reward' });
    expect(played.map(({ request }) => request.rolloutId)).toEqual(['s2', 's0', 's1', 's3']);
    const foreign = { runId, sort: 'reward', before: '2026-01-01T00:00:00.000Z~s0' } as const;
    expect((await listEpisodes(database.dataSource, foreign)).episodes).toHaveLength(4);
  });
});
