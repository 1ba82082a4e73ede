import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordedRuns } from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import { subjects } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { openMonitors, type RunSummary, type StoreUse } from '@ui-rl/records';
import {
  eventually,
  findChromium,
  makeRollout,
  makeTrajectory,
  makeTurn,
  startNats,
  type NatsServer,
} from '@ui-rl/testkit';
import { type Browser, chromium, type Page } from 'playwright';
import { buildPage, phoneScreens } from '../test/open-page';
import { type Monitor, startMonitor } from './server';

/** Runs of several brokers, each with its own monitor, in one embedded database. */

const SCREENSHOTS = 3;

let folder: string;
let dataDir: string;
let browser: Browser;
let screens: Uint8Array[];
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ui-rl-shared-'));
  dataDir = join(folder, 'runs/monitor-db');
  browser = await chromium.launch({
    ...{ executablePath: findChromium(), args: ['--no-sandbox'] },
    env: { ...process.env, TMPDIR: folder },
  });
  screens = await phoneScreens(browser);
  await buildPage(join(folder, 'web'));
}, 240_000);
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

async function openMonitor(bus: BusService | null, run?: string): Promise<Monitor> {
  return startMonitor(bus, {
    database: { kind: 'pglite', dataDir },
    ...{ host: '127.0.0.1', port: 0, run },
    tokenFile: join(folder, 'monitor-token'),
    components: await loadComponents(),
    webDir: join(folder, 'web'),
  });
}

/** A broker and a monitor that end with their run, as those of a quickstart do. */
interface OwnRun {
  nats: NatsServer;
  bus: BusService;
  monitor: Monitor;
  end(): Promise<void>;
}

async function beginRun(runId: string): Promise<OwnRun> {
  const nats = await startNats();
  const [bus, monitorBus] = await Promise.all(
    ['test', 'monitor'].map((service) => BusService.connect({ service, servers: [nats.url] })),
  );
  const monitor = await openMonitor(monitorBus, runId);
  await bus.event({ type: 'run_created', runId, config: { name: runId } }, 'created');
  const end = async (): Promise<void> => {
    await monitor.close();
    await Promise.all([bus.close(), monitorBus.close()]);
    await nats.stop();
  };
  return { nats, bus, monitor, end };
}

/** Publishes an episode that shows all screens. */
async function play({ bus }: OwnRun, runId: string, episode: number): Promise<void> {
  const hashes = await Promise.all(screens.map((png) => bus.blobs.of(runId).put(png)));
  const request = makeRollout({ runId, rolloutId: `${runId}-g0-r${episode}` });
  const turns = [makeTurn({ screenshot: hashes[0], promptImages: [hashes[1]] })];
  const trajectory = makeTrajectory({ request, turns, finalScreenshot: hashes[2] });
  await bus.publishJson(subjects.trajectory(runId, 'train'), trajectory, request.rolloutId);
}

async function get<T>({ url }: Monitor, path: string): Promise<T> {
  return (await (await fetch(`${url}/api/${path}`)).json()) as T;
}

async function countsOf(monitor: Monitor): Promise<Record<string, number>> {
  // The monitor may just have lost the process that had the database open.
  const runs = await get<RunSummary[]>(monitor, 'runs');
  return Array.isArray(runs) ? Object.fromEntries(runs.map(({ id, episodes }) => [id, episodes])) : {};
}

test('runs at the same time and later are side by side, with screenshots, when their brokers are gone', async () => {
  const first = await beginRun('first');
  const second = await beginRun('second');
  await play(first, 'first', 0);
  await play(second, 'second', 0);
  await eventually('both in each monitor', async () => {
    const counts = await Promise.all([countsOf(first.monitor), countsOf(second.monitor)]);
    return counts.every((count) => count.first === 1 && count.second === 1);
  });
  expect((await openMonitors(dataDir)).map(({ url }) => url)).toContain(second.monitor.url);

  // A page of the other monitor learns of it.
  const page = await openRuns(second.monitor);
  await play(first, 'first', 1);
  await page.locator('tr', { hasText: 'first' }).getByText('2', { exact: true }).waitFor();

  // The first has the database open. The second continues alone.
  await first.end();
  await play(second, 'second', 1);
  await eventually('the second run to continue', async () => (await countsOf(second.monitor)).second === 2);
  await second.end();
  const third = await beginRun('third');
  await play(third, 'third', 0);
  await eventually('the third run', async () => (await countsOf(third.monitor)).third === 1);
  await third.end();

  const viewer = await openMonitor(null);
  ends.push(() => viewer.close());
  expect(await countsOf(viewer)).toEqual({ first: 2, second: 2, third: 1 });
  await page.goto(`${viewer.url}/#/`);
  await page.locator('tbody tr').nth(2).waitFor();
  await page.getByText(/^Records [\d.]+ MB, screenshots [\d.]+ kB in .*monitor-db\./).waitFor();
  await page.goto(`${viewer.url}/#/episodes/second-g0-r1`);
  await eventually('the screenshot', async () =>
    page.evaluate<boolean>(
      `[...document.images].some(({ naturalWidth, src }) => naturalWidth === 160 && src.includes('second'))`,
    ),
  );
  expect(await get(viewer, 'dead-letters')).toEqual([]);
  expect((await fetch(`${viewer.url}/health`)).status).toBe(200);
}, 240_000);

async function openRuns(monitor: Monitor): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  ends.push(() => page.close());
  await page.goto(`${monitor.url}/#/`);
  await page.locator('tbody tr').nth(1).waitFor();
  return page;
}

test('a deleted run leaves neither records nor screenshots, and those of others stay', async () => {
  const live = await beginRun('live');
  ends.push(() => live.end());
  await play(live, 'live', 0);
  await eventually('the run', async () => (await countsOf(live.monitor)).live === 1);
  const shots = `${dataDir}-screenshots`;
  expect((await readdir(shots)).toSorted()).toEqual(['first', 'live', 'second', 'third']);
  expect(await readdir(join(shots, 'first'))).toHaveLength(SCREENSHOTS);

  const records = (await RecordedRuns.open({ database: { kind: 'pglite', dataDir } }))!;
  ends.push(() => records.close());
  expect((await records.list()).map(({ runId }) => runId)).toEqual(['first', 'second', 'third', 'live']);
  const { url } = live.monitor;
  await expect(records.delete(['first', 'live'])).rejects.toThrow(
    `run live has not ended (no phase): process ${process.pid} records it`,
  );
  const before = await records.use();
  expect(await records.delete(['first', 'unknown'], { dryRun: true })).toEqual([
    { runId: 'first', episodes: 2, screenshotBytes: expect.any(Number) },
  ]);
  expect(existsSync(join(shots, 'first'))).toBe(true);
  const [deleted] = await records.delete(['first']);
  expect(existsSync(join(shots, 'first'))).toBe(false);
  expect((await readdir(shots)).toSorted()).toEqual(['live', 'second', 'third']);
  const after = await records.use();
  expect(deleted.screenshotBytes).toBeGreaterThan(0);
  expect(before!.screenshotBytes! - after!.screenshotBytes!).toBe(deleted.screenshotBytes);
  expect(await countsOf(live.monitor)).toEqual({ second: 2, third: 1, live: 1 });
  expect((await fetch(`${url}/api/episodes/first-g0-r0`)).status).toBe(404);
  expect((await get<StoreUse>(live.monitor, 'store')).location).toBe(dataDir);
  // The run that is recorded meanwhile continues.
  await play(live, 'live', 1);
  await eventually('another episode', async () => (await countsOf(live.monitor)).live === 2);
}, 120_000);
