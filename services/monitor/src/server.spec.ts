import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import { type ConfigurationGroup, MonitorPageReply, runKeys, subjects } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import type {
  Curves,
  EpisodeDetail,
  EpisodePage,
  RunDetail,
  RunSummary,
  TrajectoryPage,
} from '@ui-rl/records';
import { eventually, makeRollout, makeTrajectory, type NatsServer, startNats } from '@ui-rl/testkit';
import { applyChange, type Change } from './http/change';
import { type Monitor, type MonitorOptions, startMonitor } from './server';

const RUN = 'demo-20261120-101500';

let nats: NatsServer;
let publisher: BusService;
let folder: string;
let options: MonitorOptions;
let bus: BusService;
let monitor: Monitor;

beforeAll(async () => {
  nats = await startNats();
  folder = await mkdtemp(join(tmpdir(), 'ui-rl-monitor-'));
  publisher = await BusService.connect({ service: 'test', servers: [nats.url] });
  options = {
    database: { kind: 'pglite', dataDir: join(folder, 'database') },
    host: '127.0.0.1',
    port: 0,
    tokenFile: join(folder, 'monitor-token'),
    components: await loadComponents(),
  };
  await begin();
});

afterAll(async () => {
  await quit();
  await publisher.close();
  await nats.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A monitor over a separate connection, like a process. */
async function begin(): Promise<void> {
  bus = await BusService.connect({ service: 'monitor', servers: [nats.url] });
  monitor = await startMonitor(bus, options);
}

async function quit(): Promise<void> {
  await monitor.close();
  await bus.close();
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${monitor.url}${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function statusOf(path: string): Promise<number> {
  return (await fetch(`${monitor.url}${path}`)).status;
}

function publishEpisode(rolloutId: string, runId = RUN) {
  const trajectory = makeTrajectory({ request: makeRollout({ rolloutId, runId }) });
  return publisher.publishJson(subjects.trajectory(runId, 'train'), trajectory, rolloutId);
}

const episodesOf = async (run: string) => (await get<EpisodePage>(`/api/runs/${run}/episodes`)).episodes;

test('published messages become rows, each rollout once, and the API shows them', async () => {
  await publisher.runs.create({ runId: RUN, createdAt: new Date().toISOString(), config: { name: 'demo' } });
  await Promise.all(Array.from({ length: 60 }, (_, index) => publishEpisode(`${RUN}-r${index}`)));
  // The same rollout with another message id, as after an actor died between publishing and acknowledging.
  const again = makeTrajectory({ request: makeRollout({ rolloutId: `${RUN}-r0`, runId: RUN }), reward: 0 });
  await publisher.publishJson(subjects.trajectory(RUN, 'train'), again, 'another-id');
  await publisher.event(
    { type: 'train_step', runId: RUN, step: 1, rolloutIds: [`${RUN}-r1`], metrics: { 'optim/loss': 0.5 } },
    '1',
  );
  await eventually('60 rows and the step', async () => {
    const [run] = await get<RunSummary[]>('/api/runs');
    return run?.episodes === 60 && run.steps === 1;
  });
  const run = await get<RunDetail>(`/api/runs/${RUN}`);
  expect(run).toMatchObject({ phase: 'baseline', config: { name: 'demo' } });
  expect(await episodesOf(RUN)).toHaveLength(50);
  const episode = await get<EpisodeDetail>(`/api/episodes/${RUN}-r1`);
  expect(episode).toMatchObject({ reward: 1, trainedInStep: 1, turns: [{ tokenIds: [4, 5] }] });
  const first = await get<TrajectoryPage>(`/api/runs/${RUN}/trajectories?purpose=train`);
  const rest = await get<TrajectoryPage>(
    `/api/runs/${RUN}/trajectories?purpose=train&before=${encodeURIComponent(first.cursor!)}`,
  );
  const all = [...first.trajectories, ...rest.trajectories];
  expect([first.trajectories.length, rest.trajectories.length, rest.cursor]).toEqual([50, 10, null]);
  expect(new Set(all.map(({ request }) => request.rolloutId)).size).toBe(60);
  // As published, including every field.
  const published = makeTrajectory({ request: makeRollout({ rolloutId: `${RUN}-r7`, runId: RUN }) });
  const recorded = all.find(({ request }) => request.rolloutId === `${RUN}-r7`);
  expect(recorded).toEqual(JSON.parse(JSON.stringify(published)));
  expect(await get(`/api/runs/${RUN}/trajectories?success=no`)).toEqual({ trajectories: [], cursor: null });
});

test('an answer is compressed, and asked for since an earlier one it is the change', async () => {
  const runId = 'changing';
  await Promise.all(Array.from({ length: 5 }, (_, index) => publishEpisode(`changing-${index}`, runId)));
  await eventually('its episodes', async () => (await episodesOf(runId)).length === 5);
  const ask = async (tag?: string) => {
    const query = tag === undefined ? '' : `?since=${encodeURIComponent(tag)}`;
    const response = await fetch(`${monitor.url}/api/runs/${runId}/episodes${query}`);
    return { headers: response.headers, body: (await response.json()) as { change: Change } };
  };
  const old = await ask();
  expect(old.headers.get('content-encoding')).toMatch(/^(gzip|br)$/);
  const tag = old.headers.get('etag')!;
  const same = await ask(tag);
  expect([same.headers.get('delta-base'), same.body]).toEqual([tag, { change: null }]);
  await publishEpisode('changing-5', runId);
  const changed = await eventually('a change', async () => {
    const answer = await ask(tag);
    return answer.body.change === null ? null : answer;
  });
  const now = await ask();
  expect(applyChange(old.body, changed.body.change)).toEqual(now.body);
  expect(changed.headers.get('etag')).toBe(now.headers.get('etag'));
  const unknown = await ask('"another"');
  expect([unknown.headers.get('delta-base'), unknown.body]).toEqual([null, now.body]);
});

test('people name, tag, annotate and archive a run within bounds; pages learn of it at once', async () => {
  const runId = 'edited';
  await publisher.event({ type: 'run_created', runId, config: { name: 'edited' } }, 'created');
  const idsOf = async (query = '') =>
    (await get<RunSummary[]>(`/api/runs?search=edited${query}`)).map(({ id }) => id);
  await eventually('the run', async () => (await idsOf()).length === 1);
  const edit = async (body: unknown, id = runId) => {
    const response = await fetch(`${monitor.url}/api/runs/${id}`, {
      ...{ method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const live = await fetch(`${monitor.url}/api/live?run=${runId}`);
  const tags = [' paper ', 'seed 2', 'paper'];
  const labels = { name: 'Wider <b>LoRA</b>', notes: 'one\ntwo', tags: ['paper', 'seed 2'], archived: false };
  expect(await edit({ name: ' Wider <b>LoRA</b> ', notes: 'one\ntwo', tags })).toEqual({
    status: 200,
    body: labels,
  });
  const decoder = new TextDecoder();
  let said = '';
  for await (const part of live.body!) {
    said += decoder.decode(part, { stream: true });
    if (said.includes('"edited"]')) break;
  }
  expect(said).toContain(JSON.stringify([{ runId, episodes: 0, events: ['edited'] }]));
  expect(await edit({ archived: true })).toEqual({ status: 200, body: { ...labels, archived: true } });
  expect([await idsOf(), await idsOf('&archived=yes')]).toEqual([[], [runId]]);
  expect(await get(`/api/runs/${runId}`)).toMatchObject({ name: labels.name, archived: true });
  const refused: [body: unknown, says: RegExp][] = [
    [{ name: 'x'.repeat(101) }, /name must be shorter than or equal to 100 characters/],
    [{ name: 'two\nlines' }, /name must be one line/],
    [{ name: null }, /name must not be null/],
    [{ notes: 'x'.repeat(10_001) }, /notes must be shorter/],
    [{ notes: 7 }, /notes must be a string/],
    [
      { tags: Array.from({ length: 21 }, (_, index) => String(index)) },
      /tags must contain no more than 20 elements/,
    ],
    [{ tags: ['a,b'] }, /without a comma/],
    [{ tags: [' '] }, /each tag must have 1 to 50 characters/],
    [{ tags: 'paper' }, /tags must be an array/],
    [{ archived: 'yes' }, /archived must be a boolean/],
    [{ phase: 'finished' }, /property phase should not exist/],
  ];
  for (const [body, says] of refused) {
    const answer = await edit(body);
    expect({ status: answer.status, said: [answer.body.message].flat().join() }).toEqual({
      status: 400,
      said: expect.stringMatching(says) as unknown,
    });
  }
  expect(await edit({ name: 'x' }, 'no-such-run')).toMatchObject({ status: 404 });
  expect(await edit({}, '..%2f')).toMatchObject({ status: 400 });
  expect(await edit({ archived: false })).toEqual({ status: 200, body: labels });
});

test('a run that was announced without explanation is explained by what the monitor knows, without secrets', async () => {
  const runId = 'by-hand';
  const config = {
    model: { name: 'small' },
    tasks: 'demo_training',
    training: { max_steps: 3 },
    rewards: { name: 'of-a-stranger', generosity: 2, api_key: 'hush' },
  };
  await publisher.runs.create({ runId, createdAt: new Date().toISOString(), config });
  const groups = await eventually('the run file', async () => {
    const found = await get<ConfigurationGroup[]>(`/api/runs/${runId}/configuration`).catch(() => []);
    return found.length > 0 ? found : null;
  });
  const rows = new Map(groups.flatMap(({ options }) => options).map((option) => [option.path, option]));
  expect(rows.get('training.max_steps')).toMatchObject({ value: 3, default: 0, differs: true });
  expect(rows.get('training.max_steps')?.doc).not.toBe('');
  expect(rows.get('rewards[0]')).toMatchObject({ value: 'of-a-stranger', differs: true });
  expect(rows.get('rewards[0].generosity')).toMatchObject({ value: 2, doc: '' });
  expect(rows.get('rewards[0].api_key')).toMatchObject({ value: '[hidden]' });
  expect((await get<RunDetail>(`/api/runs/${runId}`)).config).toMatchObject({
    rewards: { generosity: 2, api_key: '[hidden]' },
  });
  expect(await statusOf('/api/runs/none/configuration')).toBe(404);
});

test('the end of a run is recorded where its event was lost, and no phase twice', async () => {
  const runId = 'silent-end';
  await publisher.runs.create({ runId, createdAt: new Date().toISOString(), config: {} });
  const since = new Date().toISOString();
  await publisher.runsBucket.put(runKeys.state(runId), { phase: 'failed', since, reason: 'no learner can' });
  const run = await eventually('the end', async () => {
    const found = await get<RunDetail>(`/api/runs/${runId}`).catch(() => null);
    return found?.phase === 'failed' ? found : null;
  });
  expect(run.phaseReason).toBe('no learner can');
  const phases = run.log.flatMap(({ type, data }) => (type === 'phase' ? [String(data.phase)] : []));
  expect(phases.toSorted()).toEqual(['baseline', 'failed']);
});

test('episodes still in the stream from before an answer could hold several actions are recorded', async () => {
  const runId = 'earlier-run';
  const current = makeTrajectory({ request: makeRollout({ rolloutId: 'earlier', runId }) });
  const { actions, ...turn } = current.turns[0];
  const turns = [
    { ...turn, action: actions[0] },
    { ...turn, index: 1, action: null },
  ];
  await publisher.publishJson(
    subjects.trajectory(runId, 'train'),
    Object.assign(current, { turns }),
    'earlier',
  );
  const episode = await eventually('the episode', () =>
    get<EpisodeDetail>('/api/episodes/earlier').catch(() => null),
  );
  expect(episode.turns.map((each) => each.actions)).toEqual([actions, []]);
});

test('messages that cannot be recorded become dead letters with the reason, and the others are recorded', async () => {
  const { connection } = publisher;
  connection.publish(
    subjects.event(RUN, 'checkpoint'),
    '{"type":"checkpoint","runId":"x","at":"2026-01-01"}',
  );
  connection.publish(subjects.event(RUN, 'phase'), 'not json');
  connection.publish(subjects.trajectory(RUN, 'train'), '{"status":"completed"}');
  const huge = makeTrajectory({
    request: makeRollout({ rolloutId: 'huge', runId: RUN, groupIndex: 2 ** 40 }),
  });
  await publisher.publishJson(subjects.trajectory(RUN, 'train'), huge, 'huge');
  const timeless = makeTrajectory({
    request: makeRollout({ rolloutId: 'timeless', runId: RUN }),
    startedAt: 'at noon',
  });
  await publisher.publishJson(subjects.trajectory(RUN, 'train'), timeless, 'timeless');
  await publishEpisode('after-the-bad-ones');
  const reasons = await eventually('five dead letters', async () => {
    const list = await get<{ reason: string }[]>('/api/dead-letters');
    return list.length === 5 ? list.map(({ reason }) => reason).join('\n') : null;
  });
  expect(reasons).toMatch(/step: must be an integer number, found nothing/);
  expect(reasons).toMatch(/not JSON/);
  expect(reasons).toMatch(/request: should not be null/);
  expect(reasons).toMatch(/request\.groupIndex: must not be greater than/);
  expect(reasons).toMatch(/the database refuses it.*timestamp/);
  const after = () => get<EpisodeDetail>('/api/episodes/after-the-bad-ones').catch(() => null);
  expect(await eventually('the episode after them', after)).toMatchObject({ status: 'completed' });
});

test('screenshots are read by their hash and by nothing else', async () => {
  const hash = await publisher.blobs.of(RUN).put(new TextEncoder().encode('png bytes'));
  const response = await fetch(`${monitor.url}/api/runs/${RUN}/screenshots/${hash}`);
  expect(response.headers.get('content-type')).toBe('image/png');
  expect(response.headers.get('cache-control')).toMatch(/immutable/);
  expect(await response.text()).toBe('png bytes');
  const missing = await fetch(`${monitor.url}/api/runs/${RUN}/screenshots/${'0'.repeat(64)}`);
  expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, null]);
  for (const name of [
    '..%2f..%2fetc%2fpasswd',
    hash.toUpperCase(),
    hash.slice(1),
    `${hash}%00`,
    `${hash}.png`,
  ]) {
    expect(await statusOf(`/api/runs/${RUN}/screenshots/${name}`)).toBe(400);
  }
  // Screenshots of a run require the run's id.
  expect(await statusOf(`/api/runs/another/screenshots/${hash}`)).toBe(404);
  expect(await statusOf(`/api/runs/*/screenshots/${hash}`)).toBe(400);
});

test('a query that is not understood is refused', async () => {
  expect(await statusOf(`/api/runs/${RUN}/episodes?purpose=nonsense`)).toBe(400);
  expect(await statusOf(`/api/runs/${RUN}/episodes?limit=100000`)).toBe(400);
  expect(await statusOf(`/api/runs/${RUN}/episodes?unknown=1`)).toBe(400);
  expect(await statusOf('/api/runs/none')).toBe(404);
});

test('answers carry security headers, and foreign names are turned away', async () => {
  const response = await fetch(`${monitor.url}/health`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'/);
  expect(response.headers.get('x-powered-by')).toBeNull();
  const status = await new Promise((resolve, reject) => {
    const { port } = new URL(monitor.url);
    httpRequest(
      { port, host: '127.0.0.1', path: '/api/runs', headers: { host: 'evil.example' } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    )
      .on('error', reject)
      .end();
  });
  expect(status).toBe(421);
});

test('browsers keep the scripts and styles of the page, and ask again for the page itself', async () => {
  const page = await fetch(monitor.url);
  expect(page.headers.get('cache-control')).toBe('public, max-age=0');
  const assets = [...(await page.text()).matchAll(/(?:src|href)="(\.\/assets\/[^"]+)"/g)].map(
    ([, path]) => path,
  );
  expect(assets.length).toBeGreaterThan(1);
  for (const path of assets) {
    const asset = await fetch(new URL(path, monitor.url));
    expect(asset.status).toBe(200);
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  }
  expect(await statusOf('/assets/')).toBe(404);
});

test('open pages receive what was committed', async () => {
  const abort = new AbortController();
  const response = await fetch(`${monitor.url}/api/live?run=${RUN}`, { signal: abort.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  await publishEpisode('other', 'other-run');
  await publishEpisode('live-1');
  let received = '';
  while (!received.includes('event: change')) received += (await reader.read()).value;
  const line = received.split('\n').find((text) => text.startsWith('data: ['));
  expect(JSON.parse(line!.slice('data: '.length))).toEqual([{ runId: RUN, episodes: 1, events: [] }]);
  abort.abort();
});

test('no more pages follow than a bound, and a page that goes makes room', async () => {
  const open = async () => {
    const abort = new AbortController();
    const response = await fetch(`${monitor.url}/api/live`, { signal: abort.signal });
    return { status: response.status, abort };
  };
  const pages = await Promise.all(Array.from({ length: 101 }, open));
  expect(pages.filter(({ status }) => status === 200)).toHaveLength(100);
  expect(pages.filter(({ status }) => status === 503)).toHaveLength(1);
  for (const { abort } of pages) abort.abort();
  await eventually('room', async () => {
    const { status, abort } = await open();
    abort.abort();
    return status === 200;
  });
});

test('beyond the loopback it asks for a token, which it makes and keeps for its operator alone', async () => {
  await quit();
  const local = options;
  options = { ...local, host: '0.0.0.0' };
  await begin();
  const here = monitor.url.replace('0.0.0.0', '127.0.0.1');
  const runs = (headers: Record<string, string>) => fetch(`${here}/api/runs`, { headers });
  expect((await runs({})).status).toBe(401);
  expect(statSync(local.tokenFile).mode & 0o777).toBe(0o600);
  const token = readFileSync(local.tokenFile, 'utf8');
  expect((await runs({ authorization: `Bearer ${token}` })).status).toBe(200);
  const reply = await publisher.request(subjects.monitorPage(), { runId: RUN }, 2_000, MonitorPageReply);
  expect(JSON.stringify(reply)).not.toContain(token);
  await quit();
  options = local;
  await begin();
  expect(await statusOf('/api/runs')).toBe(200);
});

test('a monitor that was away records what was published meanwhile, without counting anything twice', async () => {
  await quit();
  await publishEpisode('while-away');
  await nats.restart();
  await publishEpisode('after-restart');
  await begin();
  await eventually('both episodes', async () => {
    await Promise.all(['while-away', 'after-restart'].map((id) => get(`/api/episodes/${id}`)));
    return true;
  });
  const ids = (await episodesOf(RUN)).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect((await get<RunDetail>(`/api/runs/${RUN}`)).episodes).toBe(60 + 4);
});
it('explains the metrics of a batch', async () => {
  expect(await get('/api/metrics?name=env/all/reward/speed')).toMatchObject({ unit: 'reward' });
  expect(await (await fetch(`${monitor.url}/api/metrics?name=nonsense`)).text()).toBe('');
  const metrics = await get<{ name: string; meaning: string }[]>(`/api/runs/${RUN}/metrics`);
  expect(metrics.find(({ name }) => name === 'optim/loss')?.meaning).toMatch(/^weighted sum/);
  const { steps } = await get<Curves>(`/api/runs/${RUN}/curves?metric=optim/loss&metric=none`);
  expect(Object.keys(steps.metrics)).toEqual(['optim/loss']);
});

it('tells everybody at the broker where it shows a run, and at that address who it is', async () => {
  const reply = await publisher.request(subjects.monitorPage(), { runId: RUN }, 2_000, MonitorPageReply);
  expect(reply).toMatchObject({
    ok: true,
    value: { instance: bus.instance, localOnly: true, addresses: [monitor.url], path: `/#/runs/${RUN}` },
  });
  expect(await get('/api/monitor')).toEqual({ instance: bus.instance });
});
