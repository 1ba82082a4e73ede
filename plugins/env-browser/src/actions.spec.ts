import { chromium } from 'playwright';
import sharp from 'sharp';
import { browserPath, Lab, VIEWPORT, type Player } from '../test/support';

/** Records every event in the page's state. */
const RECORDER = `
<style>
  html { background: #fff } body { margin: 0; height: 2000px; font: 13px sans-serif; touch-action: none; user-select: none }
  #hot:hover { background: #f00 }
</style>
<input id="field" style="position: fixed; left: 0; top: 0; width: 150px; height: 24px">
<div id="hot" style="position: fixed; left: 0; top: 100px; width: 160px; height: 40px">hover</div>
<script>
  const log = [];
  let seed = null;
  const held = (e) => ['ctrl', 'shift', 'alt', 'meta'].filter((key) => e[key + 'Key']).map((key) => ' ' + key).join('');
  const place = (e) => e.type + ' ' + Math.round(e.clientX) + ',' + Math.round(e.clientY);
  for (const type of ['click', 'dblclick', 'contextmenu', 'mousedown', 'mouseup', 'pointerdown', 'pointerup']) {
    addEventListener(type, (e) => log.push(place(e) + ' ' + e.button + (e.pointerType === 'touch' ? ' touch' : '') + held(e)));
  }
  addEventListener('click', (e) => { if (e.detail === 3) log.push('triple'); });
  addEventListener('mousemove', (e) => log.push(place(e) + held(e)));
  addEventListener('wheel', (e) => log.push('wheel ' + e.deltaX + ',' + e.deltaY + ' at ' + e.clientX + ',' + e.clientY + held(e)));
  addEventListener('keyup', (e) => log.push('keyup ' + e.key));
  const times = {};
  for (const type of ['keydown', 'keyup']) addEventListener(type, (e) => { if (!e.repeat) times[type] = performance.now(); });
  addEventListener('pointermove', (e) => { if (e.buttons) log.push('drag ' + Math.round(e.clientX) + ',' + Math.round(e.clientY)); });
  addEventListener('keydown', (e) => log.push('key ' + (e.ctrlKey ? 'ctrl+' : '') + (e.shiftKey ? 'shift+' : '') + e.key));
  window.uirl = {
    reset(options) { log.length = 0; seed = options; field.value = ''; },
    state() { return { log: [...log], value: field.value, seed, scroll: scrollY, width: innerWidth, held: times.keyup - times.keydown, focused: document.activeElement.id }; },
    button(name) { log.push('button ' + name); return name === 'home'; },
    done() { return log.includes('key q'); },
  };
</script>`;

describe('actions', () => {
  const lab = new Lab();
  let player: Player;

  beforeAll(async () => {
    lab.page('recorder', RECORDER);
    await lab.start();
  });
  afterAll(() => lab.stop());

  async function play(...actions: Record<string, unknown>[]) {
    player = await lab.open({ page: 'recorder', reset: { start: 'home' } }, { seed: 7 });
    const outcomes: string[] = [];
    for (const action of actions) outcomes.push((await player.act(action)).outcome);
    const state = (await player.close()) as {
      log: string[];
      value: string;
      seed: unknown;
      scroll: number;
      width: number;
      held: number;
    };
    return { ...state, outcomes };
  }

  it('give the page the seed and the reset options of the task', async () => {
    expect((await play()).seed).toEqual({ seed: 7, start: 'home' });
  });

  it('click at their point', async () => {
    const { log, outcomes } = await play({ action: 'click', x: 83, y: 41 });
    expect(log.filter((line) => !line.startsWith('mousemove'))).toEqual([
      'pointerdown 83,41 0',
      'mousedown 83,41 0',
      'pointerup 83,41 0',
      'mouseup 83,41 0',
      'click 83,41 0',
    ]);
    expect(log[0]).toBe('mousemove 83,41');
    expect(outcomes).toEqual(['ok']);
  });

  it.each([
    ['double_click', 'dblclick 83,41 0'],
    ['triple_click', 'triple'],
    ['right_click', 'contextmenu 83,41 2'],
    ['middle_click', 'mouseup 83,41 1'],
    ['move', 'mousemove 83,41'],
  ])('%s', async (action, line) => {
    expect((await play({ action, x: 83, y: 41 })).log).toContain(line);
  });

  it('hold keys down meanwhile, and no longer', async () => {
    const { log } = await play(
      { action: 'click', x: 83, y: 41, modifiers: ['ctrl', 'shift'] },
      { action: 'move', x: 90, y: 41 },
    );
    expect(log).toEqual([
      'key ctrl+Control',
      'key ctrl+shift+Shift',
      'mousemove 83,41 ctrl shift',
      ...['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'].map(
        (type) => `${type} 83,41 0 ctrl shift`,
      ),
      'keyup Shift',
      'keyup Control',
      'mousemove 90,41',
    ]);
  });

  it.each([
    [{ action: 'double_click', x: 9, y: 50 }, 'dblclick 9,50 0 alt meta'],
    [{ action: 'right_click', x: 9, y: 50 }, 'contextmenu 9,50 2 alt meta'],
    [{ action: 'drag', from: [9, 50], to: [40, 60] }, 'mouseup 40,60 0 alt meta'],
    [{ action: 'move', x: 9, y: 50 }, 'mousemove 9,50 alt meta'],
  ])('hold keys during %j', async (action, line) => {
    expect((await play({ ...action, modifiers: ['alt', 'meta'] })).log).toContain(line);
  });

  it('hold keys while scrolling, which changes neither size nor zoom of the page', async () => {
    const scrolled = { action: 'scroll', direction: 'down', amount: 1, modifiers: ['ctrl'] };
    const { log, width } = await play(scrolled);
    expect(log).toContain('wheel 0,100 at 80,112 ctrl');
    expect(width).toBe(VIEWPORT.width);
  });

  it('hold keys for seconds, and repeat the last one as a keyboard does', async () => {
    const { log, held } = await play({ action: 'key', keys: ['shift', 'ArrowDown'], seconds: 0.9 });
    expect(held).toBeGreaterThan(850);
    expect(log.filter((line) => line === 'key shift+ArrowDown').length).toBeGreaterThan(3);
    expect(log.slice(-2)).toEqual(['keyup ArrowDown', 'keyup Shift']);
    const modifier = await play({ action: 'key', keys: ['shift'], seconds: 0.7 });
    expect(modifier.log).toEqual(['key shift+Shift', 'keyup Shift']);
    expect(modifier.held).toBeGreaterThan(650);
  });

  it('hold a key and the button until they are released, where another action moves the pointer', async () => {
    const { log, outcomes } = await play(
      { action: 'key_down', key: 'ctrl' },
      { action: 'mouse_down', x: 20, y: 60 },
      { action: 'move', x: 60, y: 60 },
      { action: 'mouse_up' },
      { action: 'click', x: 9, y: 50 },
      { action: 'key_up', key: 'ctrl' },
    );
    expect(outcomes).toEqual(outcomes.map(() => 'ok'));
    expect(log).toEqual(expect.arrayContaining(['drag 28,60', 'drag 60,60', 'click 9,50 0 ctrl']));
    expect(log.filter((line) => /^mouse(down|up)|^key/.test(line))).toEqual([
      'key ctrl+Control',
      'mousedown 20,60 0 ctrl',
      'mouseup 60,60 0 ctrl',
      'mousedown 9,50 0 ctrl',
      'mouseup 9,50 0 ctrl',
      'keyup Control',
    ]);
  });

  it('report a release of what is not held, and release the button before it is pressed again', async () => {
    const { log, outcomes } = await play(
      { action: 'mouse_up' },
      { action: 'key_up', key: 'a' },
      { action: 'mouse_down', x: 20, y: 60 },
      { action: 'click', x: 60, y: 60 },
    );
    expect(outcomes).toEqual(['nothing_held', 'nothing_held', 'ok', 'ok']);
    expect(log.filter((line) => /^mouse(down|up)/.test(line))).toEqual([
      'mousedown 20,60 0',
      'mouseup 20,60 0',
      'mousedown 60,60 0',
      'mouseup 60,60 0',
    ]);
  });

  it('are released at the end of the episode: the next one on the page begins without', async () => {
    await play({ action: 'key_down', key: 'shift' }, { action: 'mouse_down', x: 20, y: 60 });
    const { log } = await play({ action: 'move', x: 60, y: 60 }, { action: 'click', x: 9, y: 50 });
    expect(log).toEqual([
      'mousemove 60,60',
      'mousemove 9,50',
      ...['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'].map((type) => `${type} 9,50 0`),
    ]);
  });

  it('drag along a path, with an event at each point', async () => {
    const via = Array.from({ length: 24 }, (_, at): [number, number] => [
      Math.round(80 + 40 * Math.cos(at / 4)),
      Math.round(150 + 40 * Math.sin(at / 4)),
    ]);
    const { log } = await play({ action: 'drag', from: [120, 140], via, to: [121, 150] });
    expect(log.filter((line) => line.startsWith('drag'))).toEqual([
      ...via.map((point) => `drag ${point.join()}`),
      'drag 121,150',
    ]);
    expect(log.at(-2)).toBe('mouseup 121,150 0');
    const bent = await play({ action: 'drag', from: [20, 60], via: [[100, 60]], to: [100, 120] });
    expect(bent.log.filter((line) => line.startsWith('drag'))).toEqual(
      [
        [47, 60],
        [73, 60],
        [100, 60],
        [100, 80],
        [100, 100],
        [100, 120],
      ].map((point) => `drag ${point.join()}`),
    );
    expect((await play({ action: 'drag', from: [1, 1], via: [[1, 300]], to: [9, 9] })).outcomes).toEqual([
      'outside_viewport',
    ]);
  });

  it('hold for their duration', async () => {
    const begin = Date.now();
    const { log } = await play({ action: 'long_press', x: 10, y: 50, seconds: 0.3 });
    expect(Date.now() - begin).toBeGreaterThan(300);
    expect(log).toEqual(expect.arrayContaining(['mousedown 10,50 0', 'mouseup 10,50 0']));
  });

  it('type text, with Enter for line breaks and any character', async () => {
    const typed = await play({ action: 'click', x: 20, y: 10 }, { action: 'type', text: 'Ab "é" 日\n' });
    expect(typed.value).toBe('Ab "é" 日');
    expect(typed.log).toContain('key Enter');
    const long = 'x'.repeat(5000);
    expect((await play({ action: 'click', x: 20, y: 10 }, { action: 'type', text: long })).value).toBe(long);
  });

  it('press keys together', async () => {
    const { log, value, outcomes } = await play(
      { action: 'click', x: 20, y: 10 },
      { action: 'type', text: 'abc' },
      { action: 'key', keys: ['ctrl', 'a'] },
      { action: 'key', keys: ['backspace'] },
      { action: 'key', keys: ['shift', 'tab'] },
      { action: 'key', keys: ['é'] },
      { action: 'key', keys: ['😀'] },
      { action: 'key', keys: ['ctrl', 'é'] },
    );
    expect(log).toEqual(
      expect.arrayContaining(['key ctrl+a', 'key Backspace', 'key shift+Tab', 'key é', 'key 😀']),
    );
    expect(value).toBe('');
    expect(outcomes.at(-1)).toBe('unsupported_action');
  });

  it('scroll one wheel event per notch, at a place or in the middle', async () => {
    const { log, scroll } = await play(
      { action: 'scroll', direction: 'down', amount: 3 },
      { action: 'scroll', direction: 'up', amount: 1, x: 20, y: 30 },
      { action: 'scroll', direction: 'right', amount: 1 },
    );
    expect(log.filter((line) => line.startsWith('wheel'))).toEqual([
      'wheel 0,100 at 80,112',
      'wheel 0,100 at 80,112',
      'wheel 0,100 at 80,112',
      'wheel 0,-100 at 20,30',
      'wheel 100,0 at 80,112',
    ]);
    expect(scroll).toBe(200);
  });

  it('drag and swipe from place to place', async () => {
    for (const action of ['drag', 'swipe']) {
      const { log } = await play({ action, from: [20, 60], to: [120, 160] });
      const kinds = log.filter((line) => line.startsWith('mouse'));
      expect(kinds).toEqual(
        expect.arrayContaining(['mousedown 20,60 0', 'mousemove 80,120', 'mouseup 120,160 0']),
      );
    }
  });

  it('swipe in a direction, from a place or the middle, and not beyond the edge', async () => {
    const { log } = await play(
      { action: 'swipe', direction: 'up' },
      { action: 'swipe', direction: 'left', x: 100, y: 50, distance: 30 },
      { action: 'swipe', direction: 'down', x: 100, y: 200, distance: 500 },
    );
    expect(log.filter((line) => /^mouse(down|up)/.test(line))).toEqual([
      'mousedown 80,112 0',
      'mouseup 80,0 0',
      'mousedown 100,50 0',
      'mouseup 70,50 0',
      'mousedown 100,200 0',
      'mouseup 100,223 0',
    ]);
  });

  it('touch where the task says so', async () => {
    player = await lab.open({ page: 'recorder', input: 'touch' });
    await player.act({ action: 'click', x: 83, y: 41, modifiers: ['shift'] });
    await player.act({ action: 'swipe', from: [20, 160], to: [20, 60] });
    await player.act({ action: 'long_press', x: 30, y: 70, seconds: 0.1 });
    expect((await player.act({ action: 'mouse_down', x: 1, y: 60 })).outcome).toBe('unsupported_action');
    const { log } = (await player.close()) as { log: string[] };
    expect(log).toEqual(
      expect.arrayContaining([
        'pointerdown 83,41 0 touch shift',
        'click 83,41 0 touch shift',
        'pointerup 20,60 0 touch',
        'pointerup 30,70 0 touch',
      ]),
    );
  });

  it('press buttons the page knows', async () => {
    const { log, outcomes } = await play(
      { action: 'button', button: 'home' },
      { action: 'button', button: 'power' },
    );
    expect(log).toEqual(['button home', 'button power']);
    expect(outcomes).toEqual(['ok', 'unsupported_action']);
  });

  it('wait, but not beyond the deadline', async () => {
    player = await lab.open({ page: 'recorder' });
    const begin = Date.now();
    expect((await player.act({ action: 'wait', seconds: 0.2 })).outcome).toBe('ok');
    expect(Date.now() - begin).toBeGreaterThanOrEqual(200);
    expect((await player.act({ action: 'wait', seconds: 60 }, 2500)).outcome).toBe('wait_cut_short');
    expect(Date.now() - begin).toBeLessThan(10_000);
    await player.close();
  });

  it('end the episode with finish, or when the page says so', async () => {
    player = await lab.open({ page: 'recorder' });
    expect((await player.act({ action: 'click', x: 1, y: 1 })).done).toBe(false);
    expect((await player.act({ action: 'key', keys: ['q'] })).done).toBe(true);
    expect((await player.act({ action: 'finish', success: true })).done).toBe(true);
    await player.close();
  });

  it.each([
    { action: 'click', x: VIEWPORT.width, y: 0 },
    { action: 'click', x: 0, y: VIEWPORT.height },
    { action: 'scroll', direction: 'down', amount: 1, x: 400, y: 1 },
    { action: 'drag', from: [1, 1], to: [1, 300] },
    { action: 'swipe', direction: 'up', x: 1, y: 300 },
  ])('report a place outside of the screen and do nothing: %j', async (action) => {
    const { log, outcomes, scroll } = await play(action);
    expect(outcomes).toEqual(['outside_viewport']);
    expect(log).toEqual([]);
    expect(scroll).toBe(0);
  });
});

describe('screenshots', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.page('recorder', RECORDER);
    lab.page(
      'toggle',
      `<body style="margin:0;height:100vh;background:#fff" onclick="on = !on; document.body.style.background = on ? '#00f' : '#fff'">
       <script>let on = false; window.uirl = { reset() { on = false; document.body.style.background = '#fff' }, state: () => ({ on }) }</script>`,
    );
    await lab.start();
  });
  afterAll(() => lab.stop());

  const pixels = async (png: Uint8Array) =>
    sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });

  it('have the size of the viewport and a digest of their bytes', async () => {
    const player = await lab.open({ page: 'toggle' });
    const { data, info } = await pixels(player.first.png);
    expect(info).toMatchObject(VIEWPORT);
    expect(player.first).toMatchObject({
      ...VIEWPORT,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect([...data.subarray(0, 3)]).toEqual([255, 255, 255]);
    await player.close();
  });

  it('have the pixels Playwright itself sees', async () => {
    const html = '<!doctype html><body style="background: linear-gradient(red, blue)">Hello <b>world</b>';
    lab.page('gradient', html);
    const player = await lab.open({ page: 'gradient' });
    const browser = await chromium.launch({ executablePath: browserPath() });
    const page = await browser.newPage({ viewport: VIEWPORT });
    await page.setContent(html);
    const expected = await pixels(await page.screenshot());
    expect((await pixels(player.first.png)).data.equals(expected.data)).toBe(true);
    await browser.close();
    await player.close();
  });

  it('always show the effect of the action they follow', async () => {
    const player = await lab.open({ page: 'toggle' });
    const seen: number[] = [];
    for (let i = 0; i < 40; i++) {
      const { screenshot } = await player.act({ action: 'click', x: 20 + i, y: 20 });
      seen.push((await pixels(screenshot.png)).data[0]);
    }
    expect(seen).toEqual(seen.map((_, i) => (i % 2 === 0 ? 0 : 255)));
    await player.close();
  });

  it('are the same at the start of every episode, on a page fresh or used, wherever the pointer was', async () => {
    const first = await lab.open({ page: 'recorder' });
    await first.act({ action: 'click', x: 20, y: 120 });
    await first.act({ action: 'scroll', direction: 'down', amount: 2 });
    const hovered = await first.act({ action: 'move', x: 20, y: 130 });
    expect(hovered.screenshot.sha256).not.toBe(first.first.sha256);
    await first.close();
    const again = await lab.open({ page: 'recorder' });
    const beside = await lab.open({ page: 'recorder' });
    expect(again.first.sha256).toBe(first.first.sha256);
    expect(beside.first.sha256).toBe(first.first.sha256);
    await again.close();
    await beside.close();
  });
});
