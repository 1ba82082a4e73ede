import { CHECK_RESULTS, type Check, type CheckResult } from '@ui-rl/plugin-kit';
import { browsers, Lab, until, value, type Player } from '../test/support';
import { memoryOf } from './memory-watch';

/** A page that runs hostile code after a click. */
const onClick = (code: string) => `<body style="margin: 0; height: 100vh"><script>
  window.uirl = { state: () => ({}) };
  onclick = () => { ${code} };
</script>`;

const COUNTER = `<body style="margin: 0; height: 100vh"><script>
  let clicks = 0;
  onclick = () => clicks++;
  window.uirl = { reset() { clicks = 0; }, state: () => ({ clicks }) };
</script>`;

const click = { action: 'click', x: 20, y: 20 };
const MIB = 2 ** 20;
/**
 * Deadline of a step beside a hostile page. Alone it takes a few hundredths of a second; how long it waits for a flooded
 * browser depends on what else the machine does.
 */
const NEIGHBOUR_STEP_MS = 60_000;

describe('beside a hostile page', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.page('counter', COUNTER);
    // All pages in one browser is the worst case.
    await lab.start({ memory_mb: 2048 });
  });
  afterAll(() => lab.stop());
  beforeEach(() => void lab.log.splice(0));

  /** Plays an episode while `hostile` runs; all its clicks must be registered. */
  async function neighbourOf(hostile: Promise<unknown>): Promise<void> {
    const neighbour = await lab.open({ page: 'counter' }, { deadlineMs: NEIGHBOUR_STEP_MS });
    const [{ pid }] = browsers();
    const state = { over: false };
    void hostile.finally(() => (state.over = true));
    let clicks = 0;
    for (; !state.over || clicks < 3; clicks++) {
      expect((await neighbour.act(click, NEIGHBOUR_STEP_MS)).outcome).toBe('ok');
    }
    expect(await neighbour.close()).toEqual({ clicks });
    expect(browsers().map((browser) => browser.pid)).toEqual([pid]);
  }

  async function hostileStep(code: string, deadlineMs = 4_000) {
    lab.page('hostile', onClick(code));
    const player = await lab.open({ page: 'hostile' });
    const reply = player.ask(click, deadlineMs);
    await neighbourOf(reply.then(() => lab.sessions.closeSession(player.sessionId)));
    return { player, reply: await reply };
  }

  it.each([
    ['a loop of dialogs', "for (;;) alert('again');", ['page_hangs', 'page_error']],
    [
      'a flood of lines on the console',
      "for (;;) console.log('x'.repeat(100));",
      ['page_hangs', 'page_error'],
    ],
    ['a flood of long lines', "for (;;) console.log('x'.repeat(1e6));", ['page_hangs', 'page_error']],
    [
      'a flood of frames',
      floodOf("document.body.append(f = document.createElement('iframe')); f.remove();", 'let f;'),
      ['ok', 'page_hangs', 'page_error'],
    ],
    [
      'a flood of requests',
      floodOf("fetch('/x' + Math.random()).catch(() => {});"),
      ['ok', 'page_hangs', 'page_error'],
    ],
    ['a flood of windows', floodOf("window.open('/');"), ['too_many_windows', 'page_hangs', 'page_error']],
  ])('%s ends its own episode and no other', async (_name, code, expected) => {
    const { reply } = await hostileStep(code);
    expect(expected).toContain(reply.ok ? reply.value.outcome : reply.error.code);
  });

  it('a page that begins to flood when its episode is over is closed', async () => {
    const flood = floodOf("fetch('/x' + Math.random()).catch(() => {});");
    lab.page(
      'later',
      `<script>window.uirl = { reset: () => setTimeout(() => { ${flood} }, 1000), state: () => ({}) };</script>`,
    );
    const before = lab.kept();
    await (await lab.open({ page: 'later' })).close();
    const isKept = () => lab.kept().some((id) => !before.includes(id));
    expect(isKept()).toBe(true);
    await neighbourOf(until(() => !isKept()));
  });

  it('500 MB of title, console and error take no memory of the service', async () => {
    const before = process.memoryUsage().rss;
    const large = (size: number) => `'x'.repeat(${size}) + Math.random()`;
    await hostileStep(
      `document.title = ${large(5e8)}; setTimeout(() => console.log(${large(5e8)})); setTimeout(() => { throw new Error(${large(4e8)}); }, 10);`,
      5_000,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * MIB);
  });

  it('a page that takes all memory is ended, before its browser has more than it may', async () => {
    const most = { bytes: 0 };
    const [{ pid }] = browsers();
    const watch = setInterval(() => {
      most.bytes = Math.max(
        most.bytes,
        memoryOf(pid).reduce((sum, { bytes }) => sum + bytes, 0),
      );
    }, 50);
    const { reply } = await hostileStep(
      // When the browser refuses an allocation, keep what is allocated and retry.
      'const kept = []; for (;;) { try { kept.push(new Uint8Array(64e6).fill(1)); } catch {} }',
      25_000,
    );
    clearInterval(watch);
    expect(value(reply)).toMatchObject({ outcome: 'page_crashed', done: true });
    expect(lab.log.join('\n')).toMatch(
      /a browser had \d+ MiB, more than environment.kind.memory_mb \(2048\)/,
    );
    expect(most.bytes).toBeGreaterThan(1024 * MIB);
    expect(most.bytes).toBeLessThan(3584 * MIB);
  });
});

/** Repeats some code, yielding to the event loop in between. */
function floodOf(code: string, before = ''): string {
  return `${before} setInterval(() => { for (let i = 0; i < 500; i++) { ${code} } });`;
}

describe('text of a page', () => {
  const lab = new Lab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  async function open(html: string): Promise<Player> {
    lab.page('p', html);
    return lab.open({ page: 'p' });
  }

  const BAD = '\\u0000\\u001b[31m\\u009b\\u202e\\ud800';

  it('comes as its title, bounded and without control characters', async () => {
    const player = await open(`<script>document.title = 'a' + '${BAD}' + 'b'.repeat(5e6)</script>`);
    const title = (await player.close())?.title as string;
    expect(title).toMatch(/^a \[31m b+ …$/);
    expect(title.length).toBeLessThan(600);
  });

  it('comes as its state without what a database refuses; what a page of several lines has, stays', async () => {
    const state = `{ text: 'a\\n\\tb${BAD}c', deep: [{ 'k${BAD}': 'ä😀\\u202e' }], n: 1.5, none: null }`;
    const player = await open(`<script>window.uirl = { state: () => (${state}) }</script>`);
    expect(await player.close()).toEqual({
      text: 'a\n\tb  [31m \u202e c',
      deep: [{ 'k  [31m \u202e ': 'ä😀\u202e' }],
      n: 1.5,
      none: null,
    });
  });

  it.each([
    ['of 500 MB', "({ text: 'x'.repeat(5e8) })"],
    ['of 40 MB', "({ text: 'x'.repeat(4e7) })"],
    ['of 2 MB', "({ text: 'x'.repeat(2e6) })"],
    ['of many values', '({ list: Array(1e6).fill(0) })'],
    ['of 200 levels', '(() => { let o = {}; for (let i = 0; i < 200; i++) o = { o }; return o; })()'],
    ['that throws 40 MB', "(() => { throw new Error('\\u001b' + 'x'.repeat(4e7)) })()"],
    ['that throws 500 MB', "(() => { throw new Error('x'.repeat(5e8)) })()"],
    ['of 500 MB by a replaced Object.keys', "(Object.keys = () => ['x'.repeat(5e8)], { text: 'x' })"],
    [
      'of a list without end',
      "({ list: new Proxy([], { get: (_list, key) => (key === 'length' ? Infinity : 0) }) })",
    ],
    ['that has no end', '(() => { const o = {}; o.o = o; return o; })()'],
  ])('no check holds of a state: one %s', async (_name, state) => {
    lab.page('p', onClick(`window.uirl.state = () => ${state}`));
    const checks: Check[] = [{ path: 'text', operator: 'exists', value: false }];
    const player = await lab.open({ page: 'p' }, { checks });
    await player.act(click);
    const found = (await player.close())?.[CHECK_RESULTS] as Record<number, CheckResult>;
    expect(found[0]).toMatchObject({
      holds: false,
      found: expect.stringMatching(/^[^\p{Cc}]{1,210}$/u) as string,
    });
    expect(await (await open('<title>next</title>')).close()).toMatchObject({ title: 'next' });
  });

  it('comes into the log on one bounded line', async () => {
    await (await open(`<script>throw new Error('first\\nsecond${BAD}' + 'x'.repeat(1e5))</script>`)).close();
    const lines = lab.log.filter((line) => line.includes('first'));
    expect(lines).toEqual([expect.stringMatching(/^debug http:\/\/p\.uirl\/: first second \[31m x+ …$/)]);
    expect(lines[0].length).toBeLessThan(700);
  });
});
