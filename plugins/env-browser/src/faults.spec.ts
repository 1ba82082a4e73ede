import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verify } from '@ui-rl/plugin-kit';
import { descendants, running } from '@ui-rl/testkit';
import { browsers, codeOf, homeOfBrowser, Lab, type Player, until, value } from '../test/support';
import browser from './index';
import { BrowserOptions } from './options';

const COUNTER = `<body style="margin:0;height:100vh;background:#fff"><script>
  let clicks = 0, episodes = 0;
  addEventListener('click', () => clicks++);
  addEventListener('keydown', (e) => { if (e.key === 'h') for (;;); });
  window.uirl = { reset() { clicks = 0; episodes++; }, state: () => ({ clicks, episodes }) };
</script>`;

const click = { action: 'click', x: 20, y: 20 };
const hang = { action: 'key', keys: ['h'] };

const renderers = () => descendants(process.pid).filter(({ command }) => command.includes('--type=renderer'));

describe('faults', () => {
  const lab = new Lab();
  /** A separate page for each test, so that no test reuses a tab of another. */
  let page: { page: string };
  let pages = 0;
  let players: Player[] = [];
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());
  beforeEach(() => {
    pages += 1;
    page = { page: `counter-${pages}` };
    lab.page(page.page, COUNTER);
  });
  afterEach(async () => {
    for (const { sessionId } of players) await lab.sessions.closeSession(sessionId);
    players = [];
    lab.log.length = 0;
  });

  async function open(...how: Parameters<Lab['open']>): Promise<Player> {
    const player = await lab.open(...how);
    players.push(player);
    return player;
  }

  it('a killed renderer ends the episode as crashed; the next one gets a new page', async () => {
    const player = await open(page);
    await player.act(click);
    for (const { pid } of renderers()) process.kill(pid, 'SIGKILL');
    const begin = Date.now();
    expect(codeOf(await player.ask(click))).toBe('crashed');
    expect(Date.now() - begin).toBeLessThan(3000);
    expect(codeOf(await lab.sessions.closeSession(player.sessionId))).toBe('crashed');
    const next = await open(page);
    await next.act(click);
    expect(await next.close()).toEqual({ clicks: 1, episodes: 1 });
  });

  it('a killed browser ends its episodes as crashed, also in the middle of a step, and is replaced', async () => {
    const [a, b] = await Promise.all([open(page), open(page)]);
    const waiting = b.ask({ action: 'wait', seconds: 8 }, 12_000);
    await a.act(click);
    const [{ pid }] = browsers();
    const home = homeOfBrowser();
    process.kill(pid, 'SIGKILL');
    expect(codeOf(await waiting)).toBe('crashed');
    expect(codeOf(await a.ask(click))).toBe('crashed');
    const next = await open(page);
    await next.act(click);
    expect(await next.close()).toEqual({ clicks: 1, episodes: 1 });
    expect(browsers().map((process) => process.pid)).not.toContain(pid);
    await until(() => !existsSync(home));
    expect(lab.log.join('\n')).toMatch(/a browser died/);
  });

  it('a browser that dies while no page is played is replaced without anyone noticing', async () => {
    await (await open(page)).close();
    for (const { pid } of browsers()) process.kill(pid, 'SIGKILL');
    const next = await open(page);
    expect(await next.close()).toMatchObject({ clicks: 0 });
  });

  it('a page that hangs is answered for in time and replaced, its neighbours play on', async () => {
    const [stuck, neighbour] = await Promise.all([open(page), open(page)]);
    const begin = Date.now();
    const hanging = stuck.ask(hang, 700);
    await neighbour.act(click);
    expect(value(await hanging)).toMatchObject({ outcome: 'page_hangs', done: true });
    expect(Date.now() - begin).toBeLessThan(12_000);
    expect(await stuck.act(click)).toMatchObject({ outcome: 'page_hangs', done: true });
    expect(await stuck.close()).toBeNull();
    await neighbour.act(click);
    expect(await neighbour.close()).toEqual({ clicks: 2, episodes: 1 });
    const next = await open(page);
    await next.act(click);
    expect(await next.close()).toMatchObject({ clicks: 1 });
    expect(browsers()).toHaveLength(1);
  });

  it('a page that hangs while its state is read fails the open in time, and the checks at the end', async () => {
    const stuck = (reads: number) =>
      `<script>let reads = 0; window.uirl = { reset() {}, state() { while (++reads > ${reads}); return {}; } }</script>`;
    lab.page('stuck-at-first', stuck(0));
    await expect(open({ page: 'stuck-at-first' }, { deadlineMs: 2000 })).rejects.toThrow(/^deadline/);
    lab.page('stuck', stuck(1));
    const checks = [{ path: 'any', operator: 'exists' as const, value: false }];
    const player = await open({ page: 'stuck' }, { checks });
    expect(verify(checks, await player.close())).toBe(false);
  });

  it('a page that never loads fails the open in time', async () => {
    lab.page('endless', `<script>for (;;);</script>`);
    const begin = Date.now();
    await expect(open({ page: 'endless' }, { deadlineMs: 700 })).rejects.toThrow(/^deadline/);
    expect(Date.now() - begin).toBeLessThan(10_000);
  });

  it('an expired lease closes the page', async () => {
    const player = await open(page, { leaseMs: 200 });
    await until(() => lab.sessions.size === 0);
    expect(codeOf(await player.ask(click))).toBe('no_session');
    const next = await open(page);
    expect(await next.close()).toEqual({ clicks: 0, episodes: 1 });
  });

  it('a repeated step is not executed twice', async () => {
    const player = await open(page);
    const step = { sessionId: player.sessionId, stepId: 'same', action: click, deadlineMs: 5000 };
    const first = value(await lab.sessions.step(step));
    expect(value(await lab.sessions.step(step)).screenshot.sha256).toBe(first.screenshot.sha256);
    expect(await player.close()).toMatchObject({ clicks: 1 });
  });

  it('plugin pages that can reset themselves are used again, others are not', async () => {
    lab.page(
      'plain',
      '<script>const visits = localStorage.visits = Number(localStorage.visits ?? 0) + 1; window.uirl = { state: () => ({ visits }) }</script>',
    );
    for (let episode = 1; episode <= 3; episode++) {
      const counter = await open(page);
      expect(await counter.close()).toEqual({ clicks: 0, episodes: episode });
      const plain = await open({ page: 'plain' });
      expect(await plain.close()).toEqual({ visits: 1 });
    }
  });

  it('a page that went elsewhere is not used again', async () => {
    const player = await open(page);
    await player.act({ action: 'key', keys: ['f5'] });
    lab.page(
      'away',
      `<body onclick="location.href = '/?away'" style="height:100vh"><script>
      let episodes = 0; window.uirl = { reset() { episodes++; }, state: () => ({ episodes, at: location.search }) }</script>`,
    );
    const away = await open({ page: 'away' });
    await away.act(click);
    await away.act({ action: 'wait', seconds: 0.3 });
    expect(await away.close()).toEqual({ episodes: 0, at: '?away' });
    expect(await (await open({ page: 'away' })).close()).toEqual({ episodes: 1, at: '' });
  });
});

describe('processes', () => {
  it('hold several pages each, and are closed when they are not needed', async () => {
    const lab = new Lab();
    lab.page('counter', COUNTER);
    await lab.start({ pages_per_browser: 2 }, 3);
    const players = await Promise.all([1, 2, 3].map((seed) => lab.open({ page: 'counter' }, { seed })));
    expect(browsers()).toHaveLength(2);
    await Promise.all(players.map((player) => player.act(click)));
    for (const player of players) await lab.sessions.closeSession(player.sessionId);
    lab.page('other', COUNTER);
    const others = await Promise.all([1, 2, 3].map((seed) => lab.open({ page: 'other' }, { seed })));
    expect(browsers().length).toBeLessThanOrEqual(2);
    expect(await others[0].close()).toMatchObject({ episodes: 1 });
    await lab.stop();
    await until(() => browsers().length === 0);
  });

  it('are not left behind by a process that is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'killed-'));
    // A browser started by root runs as a different user.
    chmodSync(folder, 0o711);
    const child = spawn(
      process.execPath,
      [join(__dirname, '../../../libs/testkit/run-ts.cjs'), join(__dirname, '../test/open-forever.ts')],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TMPDIR: folder } },
    );
    await once(child.stdout, 'data');
    const started = descendants(child.pid!);
    expect(started.filter(({ command }) => command.includes('--type=renderer')).length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    const pids = started.map(({ pid }) => pid);
    await until(() => running(pids).length === 0);
    rmSync(folder, { recursive: true });
  });

  it('cannot be started from a program that is not a browser, and says so at once', async () => {
    const create = (path: string) =>
      browser.create(new BrowserOptions(), {
        pages: {},
        maxSessions: 1,
        programs: { chromium: path },
        log: () => {},
      });
    await expect(create('/none')).rejects.toMatchObject({ code: 'no_browser' });
    await expect(create('/bin/false')).rejects.toMatchObject({
      code: 'no_browser',
      message: expect.stringMatching(/^\/bin\/false does not start: /) as string,
    });
  });
});
