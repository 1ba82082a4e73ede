import { CHECK_RESULTS, verify, type Check, type CheckResult } from '@ui-rl/plugin-kit';
import { descendants } from '@ui-rl/testkit';
import { codeOf, Lab } from '../test/support';

const CLICK = { action: 'click', x: 20, y: 20 };
const WAIT = { action: 'wait', seconds: 0.3 };

const withState = (
  code: string,
  state = '({ n: 1 })',
) => `<body style="margin: 0; height: 100vh"><p>here</p><script>
  window.uirl = { state: () => ${state} };
  onclick = () => { ${code} };
</script>`;
const plain = (code: string) =>
  `<body style="margin: 0; height: 100vh"><p>here</p><script>onclick = () => { ${code} };</script>`;
const FRAME = (code: string) =>
  `<body style="margin: 0"><iframe style="border: 0; width: 160px; height: 224px" srcdoc="<body style='height: 200px' onclick='${code}'>x"></iframe>`;

/** Negated checks; none may hold when nothing can be read. */
const NEGATIVES: Check[] = [
  { path: 'm', operator: 'exists', value: false },
  { path: 'n', operator: 'not_equals', value: 2 },
  { kind: 'url', operator: 'not_contains', value: '/elsewhere' },
  { kind: 'text', operator: 'not_contains', value: 'Error' },
  { kind: 'element', selector: '#error', value: false },
  { kind: 'element', selector: '#error', property: 'count', value: 0 },
  { kind: 'storage', storage: 'local', key: 'error', operator: 'exists', value: false },
  { kind: 'storage', storage: 'cookie', key: 'error', operator: 'exists', value: false },
  { kind: 'expression', expression: 'window.error', operator: 'exists', value: false },
];

describe('a page that ends its episode', () => {
  const lab = new Lab();
  beforeAll(() => lab.start({ memory_mb: 1024, pages_per_browser: 4 }));
  afterAll(() => lab.stop());

  async function play(html: string, checks: Check[], deadlineMs = 10_000) {
    lab.page('p', html, { 'index.htm': '' });
    const player = await lab.open({ page: 'p' }, { checks });
    const outcomes: string[] = [];
    let done = false;
    for (const action of [CLICK, WAIT]) {
      if (done) break;
      const step = await player.act(action, deadlineMs);
      outcomes.push(step.outcome);
      done = step.done;
      expect(step.screenshot.width).toBe(160);
    }
    const state = await player.close();
    return { outcomes, done, state, results: (state?.[CHECK_RESULTS] ?? {}) as Record<number, CheckResult> };
  }

  const ENDS: [name: string, html: string, outcome: string, deadlineMs?: number][] = [
    ['closes its window', withState('close()'), 'page_closed'],
    ['has no state and closes its window', plain('window.close()'), 'page_closed'],
    ['closes it a little later', withState('setTimeout(() => close(), 100)'), 'page_closed'],
    ['is closed by a frame in it', FRAME('top.close()'), 'page_closed'],
    ['never ends what it does', withState('for (;;);'), 'page_hangs', 2_500],
    ['shows dialogs without end', withState('for (;;) alert(1);'), 'page_', 4_000],
    [
      'never settles',
      withState('uirl.settled = () => new Promise(() => {})').replace('uirl = {', 'uirl = { settled() {},'),
      'page_hangs',
      2_500,
    ],
    ['never draws again', plain('window.requestAnimationFrame = () => 0'), 'page_hangs', 2_500],
    [
      'fills its heap',
      withState('const kept = []; for (;;) kept.push(new Array(1e6).fill(Math.random()));'),
      'page_crashed',
    ],
    [
      'fills the memory',
      withState('const kept = []; for (;;) { try { kept.push(new Uint8Array(64e6).fill(1)); } catch {} }'),
      'page_crashed',
      15_000,
    ],
  ];

  it.each(ENDS.map(([name, html, outcome, deadlineMs = 10_000]) => ({ name, html, outcome, deadlineMs })))(
    'that $name is judged, and what cannot be read of it holds no check',
    async ({ html, outcome, deadlineMs }) => {
      const { outcomes, done, state, results } = await play(html, NEGATIVES, deadlineMs);
      expect(outcomes.at(-1)).toMatch(new RegExp(`^${outcome}`));
      expect(done).toBe(true);
      expect(verify(NEGATIVES, state)).toBe(false);
      expect(Object.values(results).map(({ holds }) => holds)).toEqual(NEGATIVES.map(() => false));
      expect(results[0].found).toMatch(/closed its window|did not answer in time|crashed|floods/);
    },
    30_000,
  );

  it.each(['settled', 'done'])('that throws in %s is judged as it stands', async (called) => {
    const html = withState(`uirl.${called} = () => { throw new Error("no") }`).replace(
      'uirl = {',
      `uirl = { ${called}() {},`,
    );
    const { outcomes, done, state } = await play(html, NEGATIVES);
    expect({ outcomes, done }).toEqual({ outcomes: ['page_error'], done: true });
    expect(verify(NEGATIVES, state)).toBe(true);
  });

  it('without checks has no state, and with requests the number of them', async () => {
    expect((await play(withState('close()'), [])).state).toBeNull();
    const checks: Check[] = [
      { kind: 'request', url: '*/log' },
      { kind: 'request', url: '*/error', at_most: 0 },
    ];
    const { state } = await play(withState('fetch("/log").finally(() => close())'), checks);
    expect(verify(checks, state)).toBe(true);
  });

  it.each<[string, string]>([
    ['leaves for a blank page', withState('location = "about:blank"')],
    ['leaves for another page', withState('location = "other.html"')],
    ['takes its functions away', withState('delete window.uirl')],
    ['throws where its state is asked for', withState('uirl.state = () => { throw new Error("no") }')],
    ['has no object for a state', withState('uirl.state = () => 7')],
    ['has too large a state', withState('uirl.state = () => ({ text: "x".repeat(2e6) })')],
    ['has a state without end', withState('uirl.state = () => { const o = {}; o.o = o; return o; }')],
  ])('that %s is judged, and what it no longer tells holds no check of the state', async (_name, html) => {
    lab.page('p', html, { 'other.html': '<p>other' });
    const checks: Check[] = [
      NEGATIVES[0],
      NEGATIVES[1],
      { kind: 'url', operator: 'not_contains', value: '/elsewhere' },
    ];
    const player = await lab.open({ page: 'p' }, { checks });
    expect((await player.act(CLICK)).done).toBe(false);
    await player.act(WAIT);
    const state = await player.close();
    expect(state).toMatchObject({
      url: expect.any(String) as string,
      [CHECK_RESULTS]: { 0: { holds: false }, 1: { holds: false }, 2: { holds: true } },
    });
  });

  it.each<[string, string]>([
    ['writes itself anew', withState('document.open(); document.write("<p>new"); document.close()')],
    ['closes its own window', plain('window.open("about:blank")?.close()')],
    ['takes away the frame that was clicked', FRAME('frameElement.remove()')],
    ['goes back where nothing was before', withState('history.back()')],
    ['prints itself', withState('print()')],
  ])('not: one that %s continues', async (_name, html) => {
    lab.page('p', html);
    const player = await lab.open({ page: 'p' });
    expect((await player.act(CLICK)).done).toBe(false);
    expect((await player.act(WAIT)).done).toBe(false);
    expect(await player.close()).not.toBeNull();
  });

  it('not: one whose process or browser is ended from outside says nothing of the policy', async () => {
    lab.page('p', withState(''));
    const player = await lab.open({ page: 'p' }, { checks: NEGATIVES });
    const renderers = descendants(process.pid).filter(({ command }) => command.includes('--type=renderer'));
    for (const { pid } of renderers) process.kill(pid, 'SIGKILL');
    expect(codeOf(await player.ask(CLICK))).toBe('crashed');
    expect(codeOf(await lab.sessions.closeSession(player.sessionId))).toBe('crashed');
    const next = await lab.open({ page: 'p' });
    expect(await next.close()).toEqual({ n: 1 });
  });

  it.each<[string, string]>([
    ['a link', '<a style="display: block; width: 160px; height: 224px" href="other.html">other</a>'],
    ['a script', `<div style="height: 224px" onclick="location = 'other.html'"></div>`],
    ['a form', '<form action="other.html"><button style="position: fixed; inset: 0">send</button></form>'],
  ])('asks whether it may be left, and is left: %s', async (_name, inner) => {
    const ask = 'onkeydown = () => { onbeforeunload = (event) => event.preventDefault(); };';
    lab.page('p', `<body style="margin: 0"><script>${ask}</script>${inner}`, {
      'other.html': '<title>other</title>',
    });
    const player = await lab.open({ page: 'p' });
    await player.act({ action: 'key', keys: ['x'] });
    expect(await player.act(CLICK)).toMatchObject({ outcome: 'leave_confirmed', done: false });
    await player.act(WAIT);
    expect(await player.close()).toMatchObject({ title: 'other' });
  });
});
