import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  loadComponents,
  loadTasks,
  Sessions,
  verify,
  type ComponentRegistry,
  type Reply,
  type Task,
} from '@ui-rl/plugin-kit';
import { findChromium } from '@ui-rl/testkit';
import sharp from 'sharp';
import { writeCheckout } from '../test/pages';
import { scoreOf } from './raw-reward';
import { PAGES } from './pages';

let registry: ComponentRegistry;
beforeAll(async () => (registry = await loadComponents()));

const load = (options: Record<string, unknown>) =>
  loadTasks(registry, [{ source_type: 'miniwob', ...options }]);

describe('the tasks', () => {
  it("are BrowserGym's 125 pages in its split", async () => {
    expect(PAGES).toHaveLength(125);
    expect(new Set(PAGES.map(({ name }) => name)).size).toBe(125);
    const sizes = await Promise.all(['train', 'test'].map(async (split) => (await load({ split })).length));
    expect(sizes).toEqual([62, 63]);
    const subsets = ['original', 'hidden', 'additional', 'debug', 'nodelay'];
    const counts = await Promise.all(
      subsets.map(async (subset) => (await load({ subsets: [subset] })).length),
    );
    expect(counts).toEqual([77, 18, 12, 12, 6]);
  });

  it('are whole tasks', async () => {
    expect(await load({ pages: ['click-test'] })).toEqual([
      {
        id: 'miniwob.click-test',
        description: 'MiniWoB++ click-test',
        goalFrom: 'goal',
        maxSteps: 10,
        environment: {
          kind: 'browser',
          options: {
            page: 'miniwob',
            path: 'miniwob/click-test.html',
            viewport: { width: 160, height: 210 },
            script: 'miniwob',
            reset: { query: 'readable', data_mode: 'default' },
          },
        },
        checks: [{ path: 'success', operator: 'equals', value: true }],
      },
    ]);
  });

  it.each([
    [{ pages: ['click-tset'] }, /no page of MiniWoB\+\+ is named "click-tset"\. Did you mean .*click-test/],
    [
      { split: 'train', pages: ['click-test'] },
      /no page of MiniWoB\+\+ is in all of split, subsets and pages/,
    ],
    [{ look: '100x100' }, /look is "100x100", expected one of 160x210, 332x214/],
    [{ address: 'file:///miniwob/' }, /must be the address of a folder/],
  ])('%j is refused', async (options, message) => {
    await expect(load(options)).rejects.toThrow(message);
  });
});

describe('the pages', () => {
  let folder: string;
  let server: Server;
  let sessions: Sessions;
  let address: string;

  beforeAll(async () => {
    folder = writeCheckout(mkdtempSync(join(tmpdir(), 'uirl-miniwob-')));
    server = createServer((request, response) => {
      const path = new URL(request.url!, 'http://x').pathname;
      response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html');
      response.end(readFileSync(join(folder, 'miniwob/html', path)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    address = `${origin}/miniwob`;
    const choice = { name: 'browser', sandbox: 'off', private_origins: [origin] };
    const environment = await registry.create('environment', choice, {
      ...registry.pagesWith({ MINIWOB_DIR: folder }),
      scripts: registry.scripts,
      maxSessions: 4,
      programs: { chromium: findChromium() },
      log: () => undefined,
    });
    sessions = new Sessions(environment, { maxSessions: 4 });
  });
  afterAll(async () => {
    await sessions.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const valueOf = <T>(reply: Reply<T>): T => {
    if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
    return reply.value;
  };

  async function open(page: string, { seed = 1, ...options }: Record<string, unknown> = {}) {
    const [task] = await load({ pages: [page], ...options });
    const opened = valueOf(
      await sessions.open({ task, seed: seed as number, leaseMs: 60_000, deadlineMs: 30_000 }),
    );
    let steps = 0;
    const step = async (action: object) =>
      valueOf(
        await sessions.step({
          sessionId: opened.sessionId,
          stepId: `${steps++}`,
          action,
          deadlineMs: 10_000,
        }),
      );
    const click = (x: number, y: number) => step({ action: 'click', x, y });
    const close = async () => valueOf(await sessions.closeSession(opened.sessionId)).state!;
    return { ...opened, task, step, click, close };
  }

  /** Colors of a screenshot at some points. */
  async function coloursOf(png: Uint8Array, ...places: [number, number][]): Promise<string[]> {
    const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return places.map(([x, y]) =>
      [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)].join(),
    );
  }

  const judged = (task: Task, state: Record<string, unknown>) => verify(task.checks, state);
  const yOf = (button: number) => 60 + 40 * button;

  it('begin from a seed, with a goal that only they know, and tell their raw reward', async () => {
    const one = await open('click-button', { seed: 7 });
    const goal = String(one.state!.goal);
    expect(one.state).toMatchObject({
      goal: expect.stringMatching(/^Click button [012]\. default$/),
      raw_reward: 0,
      done: false,
      success: false,
    });
    const wanted = Number(/\d/.exec(goal)![0]);
    await sleep(500); // longer than the page's own timer
    const { done, screenshot } = await one.click(80, yOf(wanted));
    expect(done).toBe(true);
    const state = await one.close();
    expect(state).toMatchObject({
      raw_reward: 1,
      done: true,
      success: true,
      positive: true,
      reason: `button ${wanted}`,
    });
    expect(judged(one.task, state)).toBe(true);
    // The last frame has neither the cover nor the click mark.
    expect(await coloursOf(screenshot.png, [80, 200], [14, 194])).toEqual(['255,255,255', '255,255,255']);

    const again = await open('click-button', { seed: 7 });
    expect(again.screenshot.sha256).toBe(one.screenshot.sha256);
    await again.click(80, yOf((wanted + 1) % 3));
    const failed = await again.close();
    expect(failed).toMatchObject({ goal, raw_reward: -1, success: false, positive: false });
    expect(judged(again.task, failed)).toBe(false);
  });

  it('differ by the seed', async () => {
    const goals = new Set<unknown>();
    for (let seed = 0; seed < 6; seed++) {
      const player = await open('click-button', { seed });
      goals.add(player.state!.goal);
      await player.close();
    }
    expect(goals.size).toBeGreaterThan(1);
  });

  it('succeed strictly, or by the rule that counts partial credit; the raw reward stands beside it', async () => {
    const player = await open('click-checkboxes');
    await player.click(80, yOf(0));
    const state = await player.close();
    expect(state).toMatchObject({ raw_reward: 0.5, success: false, positive: true });
    const [positive] = await load({ pages: ['click-checkboxes'], success: 'positive' });
    expect([judged(player.task, state), judged(positive, state)]).toEqual([false, true]);
    expect(scoreOf({ task: player.task, stateAfter: state }, { at_least: -1 })).toBe(0.5);
    expect(scoreOf({ task: player.task, stateAfter: { raw_reward: -1 } }, { at_least: 0 })).toBe(0);
    expect(() => scoreOf({ task: player.task, stateAfter: {} }, { at_least: 0 })).toThrow(
      /has no raw_reward/,
    );
  });

  it('are waited for until they are ready; what they say in fields comes along; who leaves them has nothing', async () => {
    const player = await open('click-link');
    expect(player.state).toMatchObject({ goal: 'Click later', fields: { target: 'x' } });
    await player.click(80, 60);
    expect(await player.step({ action: 'wait', seconds: 1 })).toMatchObject({ done: true });
    expect(await player.close()).toMatchObject({
      raw_reward: 0,
      done: true,
      success: false,
      reason: 'the page was left',
    });
  });

  it('are shown when their animation is over', async () => {
    const player = await open('click-test');
    const { screenshot } = await player.click(80, 60);
    expect(await coloursOf(screenshot.png, [20, 60])).toEqual(['255,0,0']);
    await player.close();
  });

  it('show their query or not, with the same layout', async () => {
    const [shown, hidden] = [await open('click-button'), await open('click-button', { query: 'hidden' })];
    expect(hidden.state!.goal).toBe(shown.state!.goal);
    const [a, b] = await Promise.all(
      [shown, hidden].map(({ screenshot }) => sharp(screenshot.png).removeAlpha().raw().toBuffer()),
    );
    const yellow = [255, 255, 0].join();
    const bar = (pixels: Buffer) =>
      new Set(Array.from({ length: 160 * 50 }, (_, i) => [...pixels.subarray(i * 3, i * 3 + 3)].join()));
    expect([...bar(b)]).toEqual([yellow]);
    expect(bar(a).size).toBeGreaterThan(2);
    expect(a.subarray(160 * 50 * 3).equals(b.subarray(160 * 50 * 3))).toBe(true);
    await shown.close();
    await hidden.close();
  });

  it('look as BrowserGym shows them, and are clicked where the screenshot says', async () => {
    const player = await open('click-button', { look: '332x214', data_mode: 'test' });
    expect(player.screenshot).toMatchObject({ width: 498, height: 321 });
    expect(player.state!.goal).toMatch(/test$/);
    const wanted = Number(/\d/.exec(String(player.state!.goal))![0]);
    await player.click(120, Math.round(yOf(wanted) * 1.5));
    expect(await player.close()).toMatchObject({ raw_reward: 1 });
    const outside = await open('click-button', { look: '332x214' });
    expect(await outside.click(497, 320)).toMatchObject({ outcome: 'ok' });
    expect(await outside.click(498, 320)).toMatchObject({ outcome: 'outside_viewport' });
    // The area beside the task displays the reward.
    expect(await coloursOf(outside.screenshot.png, [260, 10])).toEqual(['85,85,85']);
    await outside.close();
  });

  it('come from an address, too', async () => {
    const player = await open('click-checkboxes', { address });
    await player.click(80, yOf(1));
    expect(await player.close()).toMatchObject({ raw_reward: 1, success: true });
  });
});

it('says what is missing where no checkout is named', async () => {
  const open = async (variables: Record<string, string>) => {
    const environment = await registry.create(
      'environment',
      { name: 'browser' },
      {
        ...registry.pagesWith(variables),
        scripts: registry.scripts,
        maxSessions: 1,
        programs: { chromium: findChromium() },
        log: () => undefined,
      },
    );
    const [task] = await load({ limit: 1 });
    const reply = await environment.open(
      { task, seed: 1 },
      { deadlineAt: Date.now() + 5000, signal: AbortSignal.timeout(5000) },
    );
    await environment.close();
    return reply;
  };
  expect(await open({})).toMatchObject({
    ok: false,
    error: {
      code: 'bad_task',
      message: expect.stringMatching(
        /does not name: MINIWOB_DIR is not set. "npx ui-rl setup --miniwob" fetches them$/,
      ),
    },
  });
  expect(await open({ MINIWOB_DIR: '/none' })).toMatchObject({
    ok: false,
    error: { message: expect.stringMatching(/MINIWOB_DIR: there is no \/none\/miniwob\/html$/) },
  });
});
