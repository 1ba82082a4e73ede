import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lab } from '../test/support';

/**
 * A page whose reset restores only the color of its box. Its first state is empty; later it reports how often its
 * document was loaded, and which leftovers it finds.
 */
const page = (
  onClick: string,
  { head = '', reset = '', look = '0' } = {},
) => `<!doctype html><head>${head}</head>
<body style="margin: 0; height: 100vh"><div id="box" style="width: 40px; height: 40px"><div style="height: 90px"></div></div><input id="field"><script>
  let begun = 0;
  let reads = 0;
  const box = document.getElementById('box');
  const later = [];
  document.body.addEventListener('click', (event) => { ${onClick} });
  window.uirl = {
    reset({ seed }) { begun++; reads = 0; box.style.background = 'hsl(' + 40 * seed + ' 90% 50%)'; ${reset} },
    state: () => (reads++ === 0 ? {} : { begun, found: ${look} }),
  };
</script></body>`;

interface Played {
  frame: string;
  begun: unknown;
  found: unknown;
}

const CLICK = { action: 'click', x: 100, y: 150 };

describe('a page that is reset in place', () => {
  let lab: Lab;
  let path = '';
  let pages = 0;
  beforeAll(async () => {
    lab = new Lab();
    lab.page('p', '');
    await lab.start({ reset: 'in_place' }, 2);
  });
  afterAll(() => lab.stop());
  beforeEach(() => (lab.log.length = 0));

  /** Replaces the page for later loads. */
  function show(html: string): void {
    path = `${pages++}.html`;
    lab.page('p', '', { [path]: html, 'other.html': '<p>other' });
  }

  /** Plays an episode. @returns its first frame, and the page's final state */
  async function episode(seed: number, actions: Record<string, unknown>[] = [CLICK]): Promise<Played> {
    const player = await lab.open({ page: 'p', path }, { seed });
    for (const action of actions) await player.act(action);
    const state = await player.close();
    return { frame: player.first.sha256, begun: state?.begun, found: state?.found };
  }

  /**
   * Enough episodes for in-place resets to be trusted: the first loads the page, the next two are compared with a
   * fresh load.
   */
  async function warmUp(): Promise<void> {
    // No actions, so that nothing can be left behind.
    for (const seed of [101, 102, 103]) await episode(seed, []);
  }

  const reasons = () =>
    lab.log
      .filter((line) => /loaded anew|begins differently/.test(line))
      .map((line) => line.replace(/^.*?: /, ''));

  it('shows the same first frame as when it is loaded, and its document stays', async () => {
    show(page(''));
    const loaded = await episode(1);
    await warmUp();
    expect(await episode(1)).toMatchObject({ frame: loaded.frame, begun: 3 });
    expect(await episode(2)).toMatchObject({ begun: 4 });
    expect((await episode(2)).frame).not.toBe(loaded.frame);
  });

  it.each([
    ['an interval', 'setInterval(() => {}, 1000)', 'setInterval'],
    ['a timer', 'setTimeout(() => {}, 1e6)', 'setTimeout'],
    ['a timer that a timer starts again', '(function again() { setTimeout(again, 1) })()', 'setTimeout'],
    [
      'frames without an end',
      '(function again() { requestAnimationFrame(again) })()',
      'requestAnimationFrame',
    ],
    [
      'an idle callback',
      'requestIdleCallback(function again() { requestIdleCallback(again) })',
      'requestIdleCallback',
    ],
    ['a listener of the window', `addEventListener('keydown', () => {})`, 'listener of keydown'],
    [
      'a listener of the document',
      `document.addEventListener('mousemove', () => {}, true)`,
      'listener of mousemove',
    ],
    ['a listener of an element', `box.addEventListener('click', () => {})`, 'listener of click'],
    ['a handler of the window', 'onkeydown = () => {}', 'listener of onkeydown'],
    ['a handler of an element', 'box.onclick = () => {}', 'listener of onclick'],
    [
      'a listener of the screen',
      `later.push(matchMedia('(width: 1px)')); later.at(-1).addEventListener('change', () => {})`,
      'listener of change',
    ],
    [
      'an observer',
      'new MutationObserver(() => {}).observe(document.body, { childList: true })',
      'MutationObserver',
    ],
    ['a changed builtin', 'Array.prototype.at = () => 1', 'changed builtin'],
    ['an added builtin', 'Object.prototype.litter = 1', 'changed builtin'],
    ['a global that stays', `Object.defineProperty(window, 'litter', { value: 1 })`, 'global litter'],
    ['a frame', `document.body.append(document.createElement('iframe'))`, 'frame'],
    ['a worker', `new Worker(URL.createObjectURL(new Blob([''])))`, 'Worker'],
    ['a channel', `new BroadcastChannel('x')`, 'BroadcastChannel'],
    ['a database', `indexedDB.open('x')`, 'IDBFactory.open'],
    ['a cache', `caches.open('x')`, 'CacheStorage.open'],
    ['a file', 'navigator.storage.getDirectory()', 'StorageManager.getDirectory'],
    ['a lock', `navigator.locks.request('x', () => new Promise(() => {}))`, 'LockManager.request'],
    [
      'a custom element',
      `customElements.get('x-y') ?? customElements.define('x-y', class extends HTMLElement {})`,
      'CustomElementRegistry.define',
    ],
    ['a heap that has grown', 'later.push(new Uint8Array(5e7).fill(1))', 'grown heap'],
  ])('is loaded anew after %s', async (_name, onClick, left) => {
    show(page(onClick));
    await episode(1);
    const next = await episode(1, []);
    expect(reasons()).toEqual([expect.stringContaining(`the last episode has left`)]);
    expect(reasons()[0]).toContain(left);
    expect(next.begun).toBe(1);
  });

  it.each([
    ['another address', `history.pushState({}, '', '#x')`],
    ['another document', `location.href = '/other.html'`],
  ])('is loaded anew after %s', async (_name, onClick) => {
    show(page(onClick));
    const loaded = await episode(1);
    expect(await episode(1, [])).toMatchObject({ begun: 1, frame: loaded.frame });
  });

  it('is loaded anew while a request of the last episode is not answered', async () => {
    show(page(`fetch('/pipe')`));
    const pipe = join(lab.pages.p, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await episode(1);
    const next = await episode(1, []);
    writeFileSync(pipe, 'at last');
    expect(reasons().at(-1)).toBe('the last episode has left request');
    expect(next).toMatchObject({ begun: 1 });
  });

  it('is loaded anew where its reset fails', async () => {
    show(page(`box.litter = true`, { reset: `if (box.litter) throw new Error('cannot')` }));
    await episode(1);
    expect(await episode(1, [])).toMatchObject({ begun: 1 });
    expect(reasons()).toEqual([expect.stringContaining('cannot')]);
  });

  it.each([
    ['local storage', 'localStorage.a = 1', 'Object.keys(localStorage).length'],
    ['session storage', 'sessionStorage.a = 1', 'Object.keys(sessionStorage).length'],
    ['a cookie', `document.cookie = 'a=1; max-age=1000'`, 'document.cookie.length'],
    ['the name of the window', `window.name = 'x'`, 'window.name.length'],
    ['a global variable', 'litter = 1', `Number('litter' in window)`],
    ['the scroll position', 'scrollTo(0, 50)', 'scrollY'],
    ['the scroll position of an element', 'box.scrollTop = 20', 'box.scrollTop'],
    ['focus', 'document.getElementById("field").focus()', 'Number(document.activeElement !== document.body)'],
    ['a selection', 'getSelection().selectAllChildren(document.body)', 'getSelection().rangeCount'],
  ])('has nothing of %s, and stays', async (_name, onClick, look) => {
    const head = '<style>body { height: 500px !important } #box { overflow: hidden }</style>';
    show(page(onClick, { head, look }));
    const loaded = await episode(1, []);
    await warmUp();
    expect((await episode(1)).found).toBeGreaterThan(0);
    expect(await episode(1, [])).toEqual({ frame: loaded.frame, begun: 4, found: 0 });
  });

  it('has nothing of the pointer: what was pressed, dragged or pointed at', async () => {
    const head = '<style>#box:hover { outline: 9px solid } #box:active { opacity: .2 }</style>';
    const html = page('', { head }).replace('<div id="box"', '$& draggable="true"');
    show(html);
    const loaded = await episode(1);
    await warmUp();
    await episode(1, [
      { action: 'drag', from: [20, 20], to: [120, 120] },
      { action: 'move', x: 20, y: 20 },
    ]);
    expect(await episode(1, [])).toMatchObject({ frame: loaded.frame, begun: 4 });
  });

  it('begins its animations anew', async () => {
    const head =
      '<style>@keyframes go { to { margin-left: 90px } } #box { animation: go 1000s steps(10) infinite }</style>';
    show(page('document.getAnimations()[0].currentTime = 555e3', { head }));
    const loaded = await episode(1, []);
    await warmUp();
    await episode(1);
    expect(await episode(1, [])).toMatchObject({ frame: loaded.frame, begun: 4 });
  });

  it('is loaded for each episode once its first frame was another one', async () => {
    show(page(`box.style.width = '80px'`));
    const loaded = await episode(1);
    // The frame of this seed is known, so the difference is found at once.
    expect(await episode(1)).toMatchObject({ frame: loaded.frame, begun: 1 });
    expect(lab.log.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringMatching(
        /http:\/\/p\.uirl\/\d+\.html begins differently when it is reset in place \(seed 1\), so that it is loaded for each episode/,
      ),
    ]);
    expect(await episode(2)).toMatchObject({ begun: 1 });
    expect(await episode(2)).toMatchObject({ begun: 1 });
    expect(lab.log.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  it('is compared at its first resets, with any seed', async () => {
    show(page(`box.style.width = '80px'`));
    const seeds = [1, 2, 3, 4];
    const frames: string[] = [];
    for (const seed of seeds) frames.push((await episode(seed)).frame);
    expect(reasons().at(-1)).toMatch(/is loaded for each episode/);
    for (const [at, seed] of seeds.entries()) expect((await episode(seed)).frame).toBe(frames[at]);
  });
});

it('pages that are reset in place stay open, as many as are kept', async () => {
  const lab = new Lab();
  lab.page('p', page(''), { 'a.html': page(''), 'b.html': page(''), 'c.html': page('') });
  await lab.start({ reset: 'in_place', kept_pages: 3 }, 1);
  const begun = async (path: string) => (await (await lab.open({ page: 'p', path })).close())?.begun;
  const all = ['a.html', 'b.html', 'c.html'];
  // The first round loads them; the first frames of the next two are compared.
  for (const path of [...all, ...all, ...all]) await begun(path);
  for (const path of all) expect(await begun(path)).toBe(2);
  expect(lab.kept()).toHaveLength(3);
  expect(await begun('index.html')).toBe(1);
  expect(lab.kept()).toHaveLength(3);
  await lab.stop();
});

it('closes a page that is open twice rather than the one that has waited longest', async () => {
  const lab = new Lab();
  lab.page('p', page(''), { 'a.html': page(''), 'b.html': page('') });
  await lab.start({ reset: 'in_place', kept_pages: 3 }, 2);
  const open = (path: string) => lab.open({ page: 'p', path });
  const begun = async (path: string) => (await (await open(path)).close())?.begun;
  for (let compared = 0; compared < 3; compared++) await begun('a.html');
  const twice = [await open('b.html'), await open('b.html')];
  for (const player of twice) await player.close();
  await begun('index.html');
  expect(lab.kept()).toHaveLength(3);
  expect(await begun('a.html')).toBe(2);
  await lab.stop();
});
