import type { BusService } from '@ui-rl/bus';
import { consumers, type LogLine, ServingRequest, STREAMS, subjects } from '@ui-rl/contracts';
import type { LiveHealth, RecordedHealth, RunDetail } from '@ui-rl/records';
import { axeFindings, eventually, makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, overflowOf, VIEWPORTS } from '../test/open-page';

/** The health page of a run: its services, queues, time and logs, and how to pause, continue and stop it. */

const RUN = 'healthy';
const EPISODE = 'healthy-done';
const AT = '2026-01-01T00:00:00.500Z';

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  await bus.runs.create({ runId: RUN, createdAt: new Date().toISOString(), config: {} }, 'training');
  for (const step of [1, 2]) await trainStep(step);
  await bus.event({ type: 'service_ready', runId: RUN, service: 'learner', instance: 'l1' }, 'learner');
  await bus.event({ type: 'service_ready', runId: RUN, service: 'evaluator', instance: 'e1' }, 'evaluator');
  const letter = { runId: RUN, service: 'actor', subject: 'uirl.rollout', key: 'k', reason: 'not JSON' };
  await bus.event({ type: 'dead_letter', ...letter }, 'letter');
  answer('learner', 'l1', [
    entry('log', '10:15:00', 'trained step 2'),
    entry('error', '10:15:02', 'the disk is <b>full</b>'),
  ]);
  answer('actor', 'a1', [entry('warn', '10:15:01', 'begins again')]);
  answer('actor', 'a2', []);
  await queueRollouts();
  await publishEpisodes();
  await eventually('the records', async () => {
    const { steps, episodes, inProgress } = await api<RunDetail>(`runs/${RUN}`);
    return steps === 2 && episodes === 1 && inProgress === 1;
  });
}, 240_000);
afterAll(() => opened.close());

async function api<T>(path: string): Promise<T> {
  return (await (await fetch(`${opened.monitor.url}/api/${path}`)).json()) as T;
}

const entry = (level: LogLine['level'], time: string, message: string): LogLine => ({
  ...{ level, message, context: 'bus', at: `2026-11-20T${time}.000Z` },
});

/** A process that serves the run. */
function answer(service: string, instance: string, log: LogLine[]): void {
  const machine = { machineCores: 8, machineLoad: 2.5, machineMemoryBytes: 32e9, machineFreeBytes: 12e9 };
  const own = {
    host: `host-of-${service}`,
    pid: 41,
    uptimeSeconds: 7_380,
    cpuCores: 1.25,
    memoryBytes: 512e6,
  };
  bus.respond({
    subject: subjects.serving(service, RUN),
    schema: ServingRequest,
    handle: async ({ withProcess }) => ({
      instance,
      ...(withProcess === true ? { process: { ...own, ...machine, log } } : {}),
    }),
  });
}

/** Three rollouts, of which an actor has two. */
async function queueRollouts(): Promise<void> {
  for (const index of [0, 1, 2]) {
    const request = makeRollout({ runId: RUN, rolloutId: `${RUN}-r${index}` });
    await bus.publishJson(subjects.rollout(RUN, 'train'), request, request.rolloutId);
  }
  let taken = 0;
  await bus.consume({
    ...{ stream: STREAMS.rollouts, durable: consumers.actors(RUN), subject: subjects.rollout(RUN, '*') },
    concurrency: 2,
    handle: (_, { signal }) => {
      taken += 1;
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stopped'))),
      );
    },
  });
  await eventually('two in progress', () => taken === 2);
}

/** An episode that is over, and one whose actor reports on it. */
async function publishEpisodes(): Promise<void> {
  const request = makeRollout({ runId: RUN, rolloutId: EPISODE, task: makeTask({ id: 'wifi' }) });
  const turns = [
    makeTurn({ actions: [], parseError: 'unknown_action: Say click.', outcome: 'no_action' }),
    makeTurn({ index: 1, actions: [{ action: 'click', x: 1, y: 2 }] }),
    makeTurn({ index: 2, actions: [{ action: 'finish', success: true }] }),
  ];
  const played = makeTrajectory({
    ...{ request, turns, success: false, verifier: 'checks', firstSuccess: 1 },
    environment: { kind: 'browser', instance: 'e1', width: 160, height: 224, openedAt: AT },
    times: { opening: 1_000, playing: 2_500, closing: 300, judging: 200, storing: 0 },
  });
  await bus.publishJson(subjects.trajectory(RUN, 'train'), played, EPISODE);
  const since = new Date(Date.now() - 90_000).toISOString();
  const rollout = { rolloutId: 'healthy-slow', purpose: 'train' as const, phase: 'playing' as const };
  const rollouts = [{ ...rollout, task: 'brightness', turns: 3, maxTurns: 20, since }];
  await bus.event({ type: 'rollout_progress', runId: RUN, actor: 'actor-a1', rollouts }, '1');
}

function trainStep(step: number): Promise<void> {
  const metrics = {
    ...{ 'time/total': 100, 'time/waiting_for_episodes': 50, 'time/train': 40, 'time/checkpoint': 10 },
    ...{ 'time/policy_per_turn': 0.3, 'time/env_per_turn': 0.1, 'idle_ratio/actors': 0.2 },
    ...{ 'env/all/episodes': 96, 'env/all/turns_per_episode': 4 },
    ...{ 'async/steps_off_policy_mean': 0.75, 'async/staleness/0': 0.25, 'async/staleness/1': 0.75 },
  };
  return bus.event({ type: 'train_step', runId: RUN, step, rolloutIds: [], metrics }, `${step}`);
}

async function openHealth(): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/runs/${RUN}/health`);
  await page.getByText('host-of-learner').first().waitFor();
}

const rowsOf = (title: string) =>
  opened
    .text(`section:has(> header > h2:text-is("${title}")) tbody tr`)
    .then((rows) => rows.map((row) => row.replace(/\s+/g, ' ').trim()));

it('the API gives live services, queues, and what the records say of time and staleness', async () => {
  const live = await api<LiveHealth>(`runs/${RUN}/live`);
  expect(live.services.map(({ service, instance }) => [service, instance])).toEqual([
    ['actor', 'a1'],
    ['actor', 'a2'],
    ['learner', 'l1'],
  ]);
  expect(live.queues).toContainEqual({
    ...{ stream: 'ROLLOUTS', name: `actors-${RUN}`, waiting: 3, inProgress: 2 },
  });
  expect(live.queues.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['monitor-events', 'monitor-trajectories']),
  );
  const recorded = await api<RecordedHealth>(`runs/${RUN}/health`);
  expect(recorded).toMatchObject({
    profile: { steps: 2, seconds: 200, trainer: { waiting: 0.5 }, sessionsIdle: null },
    staleness: { step: 2, mean: 0.75, shares: [{ lag: 0 }, { lag: 1, share: 0.75 }] },
    deadLetters: 1,
  });
});

it('shows who answers and who is silent, what waits, where the time went, and the logs', async () => {
  await openHealth();
  const services = await rowsOf('Services');
  expect(services.find((row) => row.startsWith('learner'))).toMatch(
    /learner l1 on host-of-learner, process 41 answers .* ago 1\.25 512\.0 MB 2 h 3 min/,
  );
  expect(services.find((row) => row.startsWith('env'))).toMatch(/env silent none/);
  expect(services.find((row) => row.startsWith('evaluator'))).toMatch(/silent started .* ago/);
  expect(await rowsOf('Queues')).toContainEqual(`Episodes for actors ROLLOUTS, actors-${RUN} 1 2`);
  expect(await rowsOf('Episodes in progress')).toEqual([
    expect.stringMatching(
      /^brightness healthy-slow, train, actor-a1 plays turns 3 of 20 \d+ min \d+ s .* ago$/,
    ),
  ]);
  expect(await rowsOf('Machines')).toContainEqual('host-of-actor 2.5 of 8 12.0 GB of 32.0 GB');
  expect(await rowsOf('Staleness')).toEqual(['0 25 %', '1 75 %']);
  const text = await page.locator('main').innerText();
  expect(text).toContain('waits for episodes 50 %');
  expect(text).toContain('idle –');
  expect(text).toContain('could not read 1 message of this run');
  expect(await rowsOf('Logs of the services')).toHaveLength(3);
  await page.getByLabel('Level').selectOption('Warnings and errors');
  expect(await rowsOf('Logs of the services')).toEqual([
    expect.stringMatching(/error learner the disk is <b>full<\/b>$/),
    expect.stringMatching(/warn actor begins again$/),
  ]);
  await page.getByRole('combobox', { name: 'Service' }).selectOption('actor');
  expect(await rowsOf('Logs of the services')).toHaveLength(1);
  await page.reload();
  await page.getByText('begins again').waitFor();
  expect(await rowsOf('Logs of the services')).toHaveLength(1);
});

it.each(VIEWPORTS)('fits $width pixels, and axe finds nothing in both colour schemes', async (viewport) => {
  await page.setViewportSize(viewport);
  await openHealth();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await opened.shot(`health-${viewport.width}-${colorScheme}`);
    expect(await axeFindings(page)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

it.each(['light', 'dark'] as const)(
  'an episode shows its environment, phases, faults, and where agent and verifier differ, in %s',
  async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(VIEWPORTS[colorScheme === 'light' ? 2 : 0]);
    await page.goto(`${opened.monitor.url}/#/episodes/${EPISODE}`);
    const facts = async () =>
      (await opened.text('.facts > div')).map((text) => text.replace(/\s+/g, ' ').trim());
    await page.locator('.facts').first().waitFor();
    expect(await facts()).toEqual(
      expect.arrayContaining([
        'Verified success no success, by checks',
        'Reported by the agent success differs',
        'All checks hold first after turn 2 of 3',
        'Unknown actions 1',
        'Unreadable answers 0',
        'Environment browser',
        'Screen 160 × 224 pixels',
        'Held by e1',
      ]),
    );
    expect((await opened.text('.why li')).slice(-3)).toEqual([
      'All checks held after turn 2, but not at the end.',
      'The agent reported success.',
      '1 unknown action.',
    ]);
    const phases = await opened.text('.shares');
    expect(phases.join(' ').replace(/\s+/g, ' ')).toMatch(/Phases of 4\.0 s .*plays turns 2\.5 s/);
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    expect(await axeFindings(page)).toEqual([]);
    await opened.shot(`episode-course-${colorScheme}`);
    await page.getByRole('link', { name: 'turn 2 of 3' }).click();
    expect(page.url()).toContain('?turn=2');
    await page.emulateMedia({ colorScheme: 'light' });
  },
);

it('pauses, continues and stops the run, with a reason, by keyboard', async () => {
  await page.setViewportSize(VIEWPORTS[2]);
  await openHealth();
  await page.getByRole('button', { name: 'Pause the run' }).press('Enter');
  await page.keyboard.type('looking at it');
  await page.keyboard.press('Enter');
  await page.getByText('Paused since').waitFor();
  expect(await bus.runs.pause(RUN)).toMatchObject({ paused: true, reason: 'looking at it' });
  expect(await opened.text('.quiet')).toEqual([expect.stringContaining('(looking at it)')]);
  expect(await axeFindings(page)).toEqual([]);
  await opened.shot('health-paused');
  await page.getByRole('button', { name: 'Continue the run' }).click();
  await page.getByRole('button', { name: 'Continue the run' }).click();
  await page.getByText('Paused since').waitFor({ state: 'detached' });
  expect(await bus.runs.pause(RUN)).toMatchObject({ paused: false });
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await bus.runs.state(RUN)).toMatchObject({ phase: 'training' });
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await page.locator('.page-head .badge', { hasText: 'stopped' }).waitFor();
  expect(await page.getByRole('button', { name: /the run/ }).count()).toBe(0);
});

it('refuses orders that make no sense, and those of the pages of others', async () => {
  const order = async (run: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${opened.monitor.url}/api/runs/${run}/control`, {
      ...{ method: 'PUT', headers: { 'Content-Type': 'application/json', ...headers } },
      body: JSON.stringify(body),
    });
    return [response.status, ((await response.json()) as { message: unknown }).message];
  };
  expect(await order('none', { order: 'pause' })).toEqual([409, expect.stringContaining('no such run')]);
  expect(await order(RUN, { order: 'stop' })).toEqual([409, expect.stringContaining('has ended: stopped')]);
  expect(await order(RUN, { order: 'explode' })).toEqual([400, expect.anything()]);
  expect(await order(RUN, { order: 'stop', reason: 'a\nb' })).toEqual([400, ['reason must be one line']]);
  expect(await order(RUN, { order: 'pause' }, { 'sec-fetch-site': 'cross-site' })).toEqual([
    403,
    expect.stringContaining('may not change'),
  ]);
});
