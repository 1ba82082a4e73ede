import { CHECK_RESULTS, type Check, type CheckResult } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import { Lab, VIEWPORT, WebServer, type Player } from '../test/support';

const BUTTON = 'style="position: fixed; left: 0; top: 0; width: 160px; height: 60px"';
const CLICK = { action: 'click', x: 20, y: 20 };
const FINISH = { action: 'finish', success: true };
const window = (change: string) => ({ action: 'window', change });
const show = (number: number) => ({ action: 'window', number });
const press = (...keys: string[]) => ({ action: 'key', keys });

/** A page of one color with a large button. */
const colored = (color: string, code: string, more = '') =>
  `<title>${color}</title><body style="margin: 0; height: 100vh; background: ${color}">
   <button ${BUTTON} onclick="${code}">go</button>${more}`;
const linked = (attributes: string) =>
  `<title>links</title><body style="margin: 0; background: #fff"><a ${BUTTON} href="two.html" ${attributes}>two</a>`;
const TWO = { 'two.html': colored('#00f', 'window.close()'), 'three.html': colored('#0f0', '') };

describe('windows', () => {
  const lab = new Lab();
  let web: WebServer;

  beforeAll(async () => {
    web = await WebServer.start((_request, response) => void response.end('<title>web</title>'));
    await lab.start();
  });
  afterAll(async () => {
    await lab.stop();
    await web.stop();
  });

  async function open(html: string, options: Record<string, unknown> = {}, checks: Check[] = []) {
    lab.page('p', html, TWO);
    return lab.open({ page: 'p', ...options }, { checks });
  }

  const colorOf = async (png: Uint8Array): Promise<string> => {
    const { data } = await sharp(png)
      .extract({ left: 80, top: 150, width: 1, height: 1 })
      .removeAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return [...data].map((value) => (value > 128 ? 'f' : '0')).join('');
  };

  /** Outcome and color of an action. */
  async function seen(player: Player, action: Record<string, unknown>): Promise<string> {
    const { outcome, screenshot } = await player.act(action);
    expect(screenshot).toMatchObject(VIEWPORT);
    return `${outcome} ${await colorOf(screenshot.png)}`;
  }

  it.each<[string, string, Record<string, unknown>]>([
    ['a script', colored('#fff', `window.open('two.html')`), CLICK],
    [
      'a script that asks for a size',
      colored('#fff', `window.open('two.html', '', 'width=90,height=80')`),
      CLICK,
    ],
    ['a link', linked('target=_blank'), CLICK],
    ['a link that names no opener', linked('target=_blank rel=noopener'), CLICK],
    ['a click with ctrl', linked(''), { ...CLICK, modifiers: ['ctrl'] }],
    ['a click with shift', linked(''), { ...CLICK, modifiers: ['shift'] }],
    ['a middle click', linked(''), { ...CLICK, action: 'middle_click' }],
  ])('are shown when %s opens them, and return when they close', async (_name, html, action) => {
    const player = await open(html);
    expect(await seen(player, action)).toBe('window_opened 00f');
    // The page of the window closes it; a window that no script opened can do so, too, as long as it has no history.
    expect(await seen(player, CLICK)).toBe('window_closed fff');
    expect(await seen(player, action)).toBe('window_opened 00f');
    expect(await player.close()).toEqual({ url: 'http://p.uirl/two.html', title: '#00f' });
  });

  it('open while a key is held, and the key is released', async () => {
    const player = await open(linked(''));
    await player.act({ action: 'key_down', key: 'ctrl' });
    expect(await seen(player, CLICK)).toBe('window_opened 00f');
    expect((await player.act({ action: 'key_up', key: 'ctrl' })).outcome).toBe('nothing_held');
    await player.close();
  });

  it('that open later are shown with the next observation', async () => {
    const player = await open(colored('#fff', `setTimeout(() => window.open('two.html'), 300)`));
    expect(await seen(player, CLICK)).toBe('ok fff');
    expect(await seen(player, { action: 'wait', seconds: 0.6 })).toBe('window_opened 00f');
    await player.close();
  });

  it('are changed by the agent: by action, and by the keys of a browser', async () => {
    const player = await open(colored('#fff', `window.open('two.html'), window.open('three.html')`));
    expect(await seen(player, CLICK)).toBe('window_opened 0f0');
    for (const [action, expected] of [
      [window('next'), 'ok fff'],
      [window('next'), 'ok 00f'],
      [window('previous'), 'ok fff'],
      [window('previous'), 'ok 0f0'],
      [show(2), 'ok 00f'],
      [show(4), 'no_such_window 00f'],
      [press('ctrl', 'tab'), 'ok 0f0'],
      [press('ctrl', 'shift', 'tab'), 'ok 00f'],
      [press('ctrl', 'page_up'), 'ok fff'],
      [press('ctrl', 'page_down'), 'ok 00f'],
      [press('ctrl', '9'), 'ok 0f0'],
      [press('ctrl', '1'), 'ok fff'],
      [press('ctrl', 't'), 'ok fff'],
      [press('ctrl', '9'), 'ok fff'],
      [press('ctrl', 'w'), 'ok fff'],
      [window('new'), 'ok fff'],
      [window('close'), 'ok fff'],
      [show(3), 'ok 0f0'],
      [window('close'), 'ok fff'],
      [show(2), 'ok 00f'],
      [press('ctrl', 'f4'), 'ok fff'],
      [window('close'), 'last_window fff'],
      [window('next'), 'last_window fff'],
    ] as const) {
      expect([action, await seen(player, action)]).toEqual([action, expected]);
    }
    expect((await player.act(FINISH)).done).toBe(true);
    expect(await player.close()).toEqual({ url: 'http://p.uirl/', title: '#fff' });
  });

  it('opened by the agent show the page of the task, and the one before is shown again', async () => {
    const player = await open(colored('#fff', `document.body.style.background = '#f00'`));
    expect(await seen(player, CLICK)).toBe('ok f00');
    expect(await seen(player, window('new'))).toBe('ok fff');
    expect(await seen(player, window('close'))).toBe('ok f00');
    await player.close();
  });

  it('of other pages: with one, digits reach the page, and with several they do not', async () => {
    const keys = `<script>window.keys = ''; onkeydown = ({ key }) => { window.keys += key; document.title = window.keys; }</script>`;
    const player = await open(colored('#fff', `window.open('two.html')`, keys));
    await player.act(press('ctrl', '2'));
    await player.act(press('ctrl', 'tab'));
    await player.act(CLICK);
    await player.act(press('ctrl', '1'));
    expect(await player.close()).toMatchObject({ title: 'Control2' });
  });

  const STATE = `<script>let n = 0; window.uirl = {
    reset() { n = 0; document.body.style.background = '#fff'; }, state: () => ({ n }), done: () => n > 2 }</script>`;

  it('have the state of the first one, and checks of the shown one', async () => {
    const checks: Check[] = [
      { path: 'n', operator: 'equals', value: 2 },
      { kind: 'url', operator: 'matches', value: '**/two.html' },
      { kind: 'text', value: 'in two' },
      { kind: 'element', selector: '#two' },
      { kind: 'storage', storage: 'local', key: 'in', value: 'two' },
      { kind: 'request', url: '**/asked' },
    ];
    lab.page('p', colored('#fff', `n += 1; window.open('two.html')`, STATE), {
      'two.html': colored(
        '#00f',
        '',
        `<p id="two" style="margin-top: 80px">in two<script>localStorage.in = 'two'; fetch('/asked'); opener.eval('n += 1')</script>`,
      ),
    });
    const kept = lab.kept().length;
    const player = await lab.open({ page: 'p' }, { checks });
    expect(await seen(player, CLICK)).toBe('window_opened 00f');
    const state = await player.close();
    const results = Object.values(state?.[CHECK_RESULTS] as Record<number, CheckResult>);
    expect(state).toMatchObject({ n: 2 });
    expect(results.map(({ holds }) => holds)).toEqual([true, true, true, true, true]);
    // The tab is used again, and shows its first window.
    expect(lab.kept().length).toBeGreaterThanOrEqual(kept);
    const next = await lab.open({ page: 'p' });
    expect(await colorOf(next.first.png)).toBe('fff');
    expect(await next.close()).toEqual({ n: 0 });
  });

  it('end the episode when the first one is done, or the last one is closed', async () => {
    lab.page('q', colored('#fff', `n = 3; window.open('two.html')`, STATE), TWO);
    const player = await lab.open({ page: 'q' });
    expect(await player.act(CLICK)).toMatchObject({ outcome: 'window_opened', done: true });
    await player.close();
    lab.page('p', colored('#fff', `window.open('two.html')`), {
      'two.html': colored('#00f', `(window.opener ?? window).close()`),
    });
    const closing = await lab.open({ page: 'p' });
    expect(await seen(closing, CLICK)).toBe('window_opened 00f');
    expect(await seen(closing, CLICK)).toBe('ok 00f');
    expect((await closing.act(window('next'))).outcome).toBe('last_window');
    expect(await closing.act(CLICK)).toMatchObject({ outcome: 'page_closed', done: true });
    await closing.close();
  });

  it('may close during any action', async () => {
    const player = await open(colored('#fff', `window.open('four.html')`));
    lab.page('p', colored('#fff', `window.open('four.html')`), {
      'four.html': colored('#00f', '', `<script>onmousedown = onwheel = onkeydown = () => close()</script>`),
    });
    for (const action of [
      CLICK,
      { action: 'double_click', x: 50, y: 90 },
      { action: 'type', text: 'abc' },
      { action: 'drag', from: [20, 80], to: [90, 90] },
      { action: 'scroll', direction: 'down', amount: 3 },
      { action: 'long_press', x: 50, y: 90, seconds: 0.2 },
      { action: 'right_click', x: 50, y: 90 },
      press('ctrl', 'a'),
    ]) {
      expect(await seen(player, CLICK)).toBe('window_opened 00f');
      const { outcome, screenshot } = await player.act(action);
      expect([action, outcome, await colorOf(screenshot.png)]).toEqual([action, 'window_closed', 'fff']);
    }
    await player.close();
  });

  it('are guarded: their network and their dialogs', async () => {
    const hostile = `<script>fetch('${web.origin}/fetch', { mode: 'no-cors' }); new Image().src = '${web.origin}/image';
      onclick = () => alert('x'); onkeydown = () => { location = '${web.origin}/away'; }</script>`;
    lab.page('p', colored('#fff', `window.open('two.html')`), { 'two.html': colored('#00f', '', hostile) });
    const player = await lab.open({ page: 'p' });
    expect(await seen(player, CLICK)).toBe('window_opened 00f');
    expect(await seen(player, CLICK)).toBe('dialog_dismissed 00f');
    expect(await seen(player, press('x'))).toBe('blocked_navigation 00f');
    expect(web.asked).toEqual([]);
    await player.close();
    for (const target of [
      `window.open('${web.origin}/popup')`,
      `window.open('${web.origin}/popup', '', 'noopener')`,
      `window.open('file:///etc/passwd')`,
    ]) {
      const blocked = await open(colored('#fff', target));
      const { outcome, screenshot } = await blocked.act(CLICK);
      expect([target, outcome, await colorOf(screenshot.png)]).toEqual([target, 'blocked_navigation', 'fff']);
      expect((await blocked.act(window('next'))).outcome).toBe('last_window');
      await blocked.close();
    }
    expect(web.asked).toEqual([]);
  });

  it('that no page opens, but the browser for held keys, load once more by the guard', async () => {
    const blocked = await open(linked('').replace('two.html', `${web.origin}/popup`));
    const action = { ...CLICK, modifiers: ['ctrl'] };
    expect(await seen(blocked, action)).toBe('blocked_navigation fff');
    expect((await blocked.act(window('next'))).outcome).toBe('last_window');
    expect(web.asked).toEqual([]);
    await blocked.close();
  });

  it('are at most eight', async () => {
    const player = await open(colored('#fff', `for (let i = 0; i < 9; i++) window.open('two.html')`));
    const { outcome } = await player.act(CLICK, 40_000);
    const later = await player.act({ action: 'wait', seconds: 0.5 });
    const outcomes = new Set([outcome, later.outcome].join(',').split(','));
    expect([...outcomes].toSorted().filter((each) => each !== 'ok')).toEqual([
      'too_many_windows',
      'window_opened',
    ]);
    expect((await player.act(show(8))).outcome).toBe('ok');
    expect((await player.act(show(9))).outcome).toBe('no_such_window');
    expect((await player.act(window('new'))).outcome).toBe('too_many_windows');
    await player.close();
  });

  it('that open before the first frame are closed', async () => {
    const player = await open(colored('#fff', '', `<script>open('two.html')</script>`));
    expect(await colorOf(player.first.png)).toBe('fff');
    await player.act({ action: 'wait', seconds: 0.2 });
    expect((await player.act(window('next'))).outcome).toBe('last_window');
    await player.close();
  });
});

it('windows are lines of a page as text', async () => {
  const lab = new Lab();
  lab.page('p', colored('#fff', `window.open('two.html')`), TWO);
  await lab.start({ observation: 'both' });
  try {
    const player = await lab.open({ page: 'p' });
    const { screenshot } = await player.act(CLICK);
    expect(screenshot.text).toMatch(/^window 1 "#fff"\nwindow 2 "#00f" shown\npage "#00f"\n/);
    expect((await player.act(window('close'))).screenshot.text).toMatch(/^page "#fff"\n/);
  } finally {
    await lab.stop();
  }
});
