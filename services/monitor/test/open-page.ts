import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { BusService } from '@ui-rl/bus';
import { loadComponents } from '@ui-rl/plugin-kit';
import { migrate, openDatabase } from '@ui-rl/records';
import { findChromium, type NatsServer, startNats } from '@ui-rl/testkit';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright';
import type { DataSource } from 'typeorm';
import { type Monitor, startMonitor } from '../src/server';
import { PLUGIN } from './shown-run';

const ROOT = resolve(__dirname, '../../..');
const SHOTS = join(ROOT, '.cache', 'monitor-page');

/** A phone, a tablet and a desktop. */
export const VIEWPORTS = [
  { width: 390, height: 844 },
  { width: 1024, height: 768 },
  { width: 1440, height: 900 },
];

/** How much wider than the window the page is, in pixels. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}

/** A monitor with the page as it is shipped, its broker, and a browser. */
export interface OpenPage {
  nats: NatsServer;
  bus: BusService;
  monitor: Monitor;
  browser: Browser;
  context: BrowserContext;
  page: Page;
  /** File of `PLUGIN`. */
  plugin: string;
  /** Output of the page's build. */
  saidByBuild: string;
  /** Complaints of the browser. */
  problems: string[];
  /** Saves a screenshot of the whole page for people. */
  shot(name: string): Promise<unknown>;
  text(selector: string): Promise<string[]>;
  close(): Promise<void>;
}

/** @param fill writes records before the monitor opens its database */
export async function openPage(fill?: (dataSource: DataSource) => Promise<void>): Promise<OpenPage> {
  const nats = await startNats();
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-page-'));
  const plugin = join(folder, 'remote-judge.js');
  await writeFile(plugin, PLUGIN);
  const webDir = join(folder, 'web');
  const [bus, monitorBus, browser, saidByBuild] = await Promise.all([
    BusService.connect({ service: 'test', servers: [nats.url] }),
    BusService.connect({ service: 'monitor', servers: [nats.url] }),
    chromium.launch({
      ...{ executablePath: findChromium(), args: ['--no-sandbox'] },
      // Downloads leave files there.
      env: { ...process.env, TMPDIR: folder },
    }),
    buildPage(webDir),
    mkdir(SHOTS, { recursive: true }),
  ]);
  const dataDir = join(folder, 'database');
  if (fill !== undefined) {
    const database = await openDatabase({ kind: 'pglite', dataDir });
    await migrate(database.dataSource);
    await fill(database.dataSource);
    await database.close();
  }
  const monitor = await startMonitor(monitorBus, {
    database: { kind: 'pglite', dataDir },
    host: '127.0.0.1',
    port: 0,
    tokenFile: join(folder, 'monitor-token'),
    components: await loadComponents(),
    webDir,
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } });
  const page = await context.newPage();
  page.setDefaultTimeout(45_000);
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  return {
    ...{ nats, bus, monitor, browser, context, page, plugin, saidByBuild, problems },
    shot: (name) => page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true }),
    text: (selector) => page.locator(selector).allInnerTexts(),
    close: async () => {
      await browser.close();
      await monitor.close();
      await monitorBus.close();
      await bus.close();
      await nats.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Builds the page as it is shipped; returns the build's output. */
export async function buildPage(outDir: string): Promise<string> {
  const vite = join(dirname(createRequire(__filename).resolve('vite/package.json')), 'bin/vite.js');
  const config = join(ROOT, 'services/monitor/web/vite.config.mts');
  const args = ['build', '--config', config, '--outDir', outDir, '--logLevel', 'warn'];
  const env = { ...process.env, NODE_ENV: 'production' };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [vite, ...args], { cwd: ROOT, env });
  return stdout + stderr;
}

/** Real screens of the simulated phone, in the order in which a user sees them. */
export async function phoneScreens(browser: Browser): Promise<Uint8Array[]> {
  const phone = await browser.newPage({ viewport: { width: 160, height: 224 } });
  await phone.goto(pathToFileURL(join(ROOT, 'plugins/task-source-demo/pocket/index.html')).href);
  const screens: Uint8Array[] = [await phone.screenshot()];
  for (const [x, y] of [
    [40, 48],
    [140, 80],
  ]) {
    await phone.mouse.click(x, y);
    screens.push(await phone.screenshot());
  }
  await phone.close();
  return screens;
}
