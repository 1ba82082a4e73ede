import { TYPED_TEXTS } from '@ui-rl/testkit';
import { Lab, pixelOf, type Player } from '../test/support';

/** Records the events it receives. */
const PAGE = `<title>events</title>
<style>body { margin: 0; overflow: hidden; background: #fff } textarea { position: absolute; left: 10px; top: 100px; width: 280px; height: 60px }</style>
<div id="colour" style="position:absolute;left:200px;top:10px;width:80px;height:40px"></div><textarea></textarea>
<script>
  let events = [];
  const area = document.querySelector('textarea');
  area.onkeydown = (event) => {
    if (event.key !== 'Tab') return;
    event.preventDefault();
    area.value += '\\t';
  };
  const at = ({ clientX, clientY }) => [clientX, clientY];
  const note = (name, what) => addEventListener(name, (event) => { events.push([name, ...what(event)]); }, { passive: false });
  const held = (event) => ['ctrl', 'shift', 'alt', 'meta'].filter((key) => event[key + 'Key']);
  note('click', (event) => [event.detail, ...at(event), ...held(event)]);
  note('auxclick', (event) => [event.button, ...at(event)]);
  note('contextmenu', (event) => { event.preventDefault(); return at(event); });
  note('wheel', (event) => { event.preventDefault(); return [Math.sign(event.deltaX), Math.sign(event.deltaY), ...at(event), ...held(event)]; });
  note('mousedown', (event) => [...at(event), ...held(event)]);
  note('mouseup', (event) => [...at(event), ...held(event)]);
  addEventListener('pointermove', (event) => {
    for (const each of event.getCoalescedEvents()) events.push(['pointermove', each.buttons, ...at(each)]);
  });
  for (const name of ['keydown', 'keyup']) {
    addEventListener(name, ({ key, repeat }) => {
      if (['ArrowDown', 'Shift'].includes(key)) events.push([name, key, repeat, Math.round(performance.now())]);
    });
  }
  window.uirl = {
    reset({ seed, colour = '#000' }) {
      events = []; area.value = '';
      document.getElementById('colour').style.background = colour;
      document.title = 'events ' + seed;
    },
    state: () => ({ events, text: area.value, marked: area.value.slice(area.selectionStart, area.selectionEnd), title: document.title, width: innerWidth, height: innerHeight }),
  };
</script>`;

describe('actions on a desktop', () => {
  const lab = new Lab();
  let player: Player;
  beforeAll(async () => {
    lab.addPage('events', PAGE);
    await lab.start({}, { quiet_ms: 40 });
    player = await lab.play({ page: 'events', reset: { colour: '#c81e32' } }, { seed: 7 });
  }, 120_000);
  afterAll(() => lab.stop(), 60_000);

  let seen = 0;
  /** Performs an action. Returns its events and outcome. */
  async function act(action: Record<string, unknown>) {
    const { outcome, state, done } = await player.act(action);
    const all = state!.events as unknown[][];
    const events = all.slice(seen);
    seen = all.length;
    return { outcome, events, done, text: state!.text, marked: state!.marked };
  }
  const clicks = ({ events }: { events: unknown[][] }) =>
    events.filter(([name]) => ['click', 'auxclick', 'contextmenu', 'wheel'].includes(name as string));

  it('begins with a page that fills the screen, in the state that the task and the seed say', async () => {
    expect(player.first).toMatchObject({ width: 320, height: 240 });
    expect(await pixelOf(player.first, 240, 30)).toEqual([0xc8, 0x1e, 0x32]);
    const { state } = await player.act({ action: 'wait', seconds: 0 });
    expect(state).toEqual({ events: [], text: '', marked: '', title: 'events 7', width: 320, height: 240 });
  });

  it.each([
    ['click', [['click', 1, 30, 40]]],
    [
      'double_click',
      [
        ['click', 1, 30, 40],
        ['click', 2, 30, 40],
      ],
    ],
    [
      'triple_click',
      [
        ['click', 1, 30, 40],
        ['click', 2, 30, 40],
        ['click', 3, 30, 40],
      ],
    ],
    [
      'right_click',
      [
        ['contextmenu', 30, 40],
        ['auxclick', 2, 30, 40],
      ],
    ],
    ['middle_click', [['auxclick', 1, 30, 40]]],
  ])('%s', async (action, expected) => {
    const acted = await act({ action, x: 30, y: 40 });
    expect(acted.outcome).toBe('ok');
    expect(clicks(acted)).toEqual(expected);
  });

  it('shows a region enlarged once', async () => {
    const zoomed = await player.act({ action: 'zoom', from: [200, 10], to: [279, 49] });
    expect(zoomed).toMatchObject({ outcome: 'ok', screenshot: { width: 320, height: 240 } });
    expect(await pixelOf(zoomed.screenshot, 160, 120)).toEqual([0xc8, 0x1e, 0x32]);
    expect(await pixelOf(zoomed.screenshot, 160, 10)).toEqual([255, 255, 255]);
    const { screenshot } = await player.act({ action: 'wait', seconds: 0 });
    expect(screenshot.sha256).toBe(player.first.sha256);
    expect((await act({ action: 'zoom', from: [0, 0], to: [320, 9] })).outcome).toBe('outside_viewport');
  });

  it('holds keys during an action, and no longer', async () => {
    const held = await act({ action: 'click', x: 30, y: 60, modifiers: ['alt', 'ctrl', 'meta', 'shift'] });
    expect(clicks(held)).toEqual([['click', 1, 30, 60, 'ctrl', 'shift', 'alt', 'meta']]);
    const scrolled = await act({
      action: 'scroll',
      direction: 'up',
      amount: 1,
      x: 50,
      y: 60,
      modifiers: ['ctrl'],
    });
    expect(clicks(scrolled)).toEqual([['wheel', 0, -1, 50, 60, 'ctrl']]);
    const dragged = await act({ action: 'drag', from: [20, 20], to: [90, 60], modifiers: ['shift'] });
    expect(dragged.events.filter(([name]) => String(name).startsWith('mouse'))).toEqual([
      ['mousedown', 20, 20, 'shift'],
      ['mouseup', 90, 60, 'shift'],
    ]);
    expect(clicks(await act({ action: 'click', x: 130, y: 20 }))).toEqual([['click', 1, 130, 20]]);
  });

  const keysIn = ({ events }: { events: unknown[][] }) =>
    events.filter(([name]) => String(name).startsWith('key')) as [string, string, boolean, number][];
  const mouseIn = ({ events }: { events: unknown[][] }) =>
    events.filter(([name]) => /^mouse/.test(String(name)));

  it('holds keys for seconds, in which the last one repeats', async () => {
    const held = keysIn(await act({ action: 'key', keys: ['down'], seconds: 1.5 }));
    expect([held[0].slice(0, 3), held.at(-1)!.slice(0, 3)]).toEqual([
      ['keydown', 'ArrowDown', false],
      ['keyup', 'ArrowDown', false],
    ]);
    expect(held.at(-1)![3] - held[0][3]).toBeGreaterThan(1_400);
    expect(held.filter(([, , isRepeated]) => isRepeated).length).toBeGreaterThan(3);
  });

  it('holds a key and the button until they are released', async () => {
    expect(keysIn(await act({ action: 'key_down', key: 'down' }))).toEqual([
      ['keydown', 'ArrowDown', false, expect.any(Number)],
    ]);
    // The time between two actions depends on the policy.
    expect(keysIn(await act({ action: 'wait', seconds: 1.5 }))).toEqual([]);
    expect(keysIn(await act({ action: 'key_up', key: 'down' })).map(([name]) => name)).toEqual(['keyup']);
    await act({ action: 'key_down', key: 'shift' });
    expect(mouseIn(await act({ action: 'mouse_down', x: 20, y: 30 }))).toEqual([
      ['mousedown', 20, 30, 'shift'],
    ]);
    expect((await act({ action: 'move', x: 90, y: 40 })).events).toEqual(
      expect.arrayContaining([['pointermove', 1, 90, 40]]),
    );
    expect(mouseIn(await act({ action: 'mouse_up' }))).toEqual([['mouseup', 90, 40, 'shift']]);
    await act({ action: 'key_up', key: 'shift' });
    expect((await act({ action: 'mouse_up' })).outcome).toBe('nothing_held');
    expect((await act({ action: 'key_up', key: 'shift' })).outcome).toBe('nothing_held');
  });

  it('drags along a path, with an event at each point', async () => {
    const via = Array.from({ length: 16 }, (_, at): [number, number] => [
      Math.round(100 + 40 * Math.cos(at / 3)),
      Math.round(48 + 40 * Math.sin(at / 3)),
    ]);
    const { events } = await act({ action: 'drag', from: [145, 40], via, to: [150, 50] });
    const places = events.filter(([name, buttons]) => name === 'pointermove' && buttons === 1);
    expect(places.map(([, , ...place]) => place)).toEqual([...via, [150, 50]]);
  });

  it('two clicks at the same place are not a double click', async () => {
    const first = await act({ action: 'click', x: 60, y: 40 });
    const second = await act({ action: 'click', x: 60, y: 40 });
    expect([...clicks(first), ...clicks(second)]).toEqual([
      ['click', 1, 60, 40],
      ['click', 1, 60, 40],
    ]);
  });

  it.each([
    ['down', 0, 1],
    ['up', 0, -1],
    ['left', -1, 0],
    ['right', 1, 0],
  ])('scroll %s', async (direction, x, y) => {
    const acted = await act({ action: 'scroll', direction, amount: 2, x: 50, y: 60 });
    expect(clicks(acted)[0]).toEqual(['wheel', x, y, 50, 60]);
  });

  it.each([
    [{ action: 'drag', from: [20, 20], to: [120, 80] }, [20, 20], [120, 80]],
    [{ action: 'swipe', direction: 'up', distance: 500, x: 100, y: 50 }, [100, 50], [100, 0]],
    [{ action: 'long_press', x: 70, y: 20, seconds: 0.1 }, [70, 20], [70, 20]],
  ])('%j presses at one place and releases at the other', async (action, from, to) => {
    const { events } = await act(action);
    expect(events.filter(([name]) => String(name).startsWith('mouse'))).toEqual([
      ['mousedown', ...from],
      ['mouseup', ...to],
    ]);
  });

  const TEXT = 'Grüße, "ñ" & <tag> 100% {x}\n漢字 привет 😀 — Ελλάδα שלום ✓';

  it('types any character, more of them than a keyboard has free keys for', async () => {
    await act({ action: 'click', x: 100, y: 130 });
    const { text, outcome } = await act({ action: 'type', text: TEXT });
    expect({ text, outcome }).toEqual({ text: TEXT, outcome: 'ok' });
  });

  it('presses keys together', async () => {
    expect(await act({ action: 'key', keys: ['ctrl', 'a'] })).toMatchObject({ marked: TEXT });
    await act({ action: 'key', keys: ['backspace'] });
    await act({ action: 'key', keys: ['A'] });
    await act({ action: 'key', keys: ['é'] });
    await act({ action: 'key', keys: ['enter'] });
    expect(await act({ action: 'key', keys: ['shift', 'home'] })).toMatchObject({ text: 'Aé\n' });
  });

  it.each(TYPED_TEXTS)('types $text as every environment does', async ({ text, typed, outcome }) => {
    await act({ action: 'key', keys: ['ctrl', 'a'] });
    await act({ action: 'key', keys: ['backspace'] });
    const acted = await act({ action: 'type', text });
    expect({ text: acted.text, outcome: acted.outcome }).toEqual({ text: typed, outcome });
  });

  it('types what is asked for while caps lock is on', async () => {
    await act({ action: 'key', keys: ['ctrl', 'a'] });
    await act({ action: 'key', keys: ['caps_lock'] });
    expect(await act({ action: 'type', text: 'aB1!' })).toMatchObject({ text: 'aB1!' });
    await act({ action: 'key', keys: ['caps_lock'] });
  });

  it.each([
    [{ action: 'click', x: 320, y: 10 }, 'outside_viewport'],
    [{ action: 'drag', from: [1, 1], to: [1, 240] }, 'outside_viewport'],
    [{ action: 'button', button: 'back' }, 'unsupported_action'],
    [{ action: 'window', change: 'next' }, 'unsupported_action'],
    [{ action: 'type', text: 'a\u0007b' }, 'unsupported_character'],
  ])('%j is answered with %s', async (action, outcome) => {
    const acted = await act(action);
    expect({ outcome: acted.outcome, events: acted.events }).toEqual({ outcome, events: [] });
  });

  it('waits no longer than its deadline allows', async () => {
    const { outcome } = await player.act({ action: 'wait', seconds: 60 }, 3_000);
    expect(outcome).toBe('wait_cut_short');
  });

  it('ends with the agent, and with what the page says of itself', async () => {
    expect((await act({ action: 'finish', success: true })).done).toBe(true);
    expect(await player.close()).toMatchObject({ title: 'events 7' });
    expect(lab.traces()).toEqual([]);
  });

  it('shows the same first frame for the same seed, after any earlier episode', async () => {
    const again = await lab.play({ page: 'events', reset: { colour: '#c81e32' } }, { seed: 7 });
    expect(again.first.sha256).toBe(player.first.sha256);
    await again.close();
  }, 60_000);

  it('still judges a page that the agent has closed', async () => {
    const closed = await lab.play({ page: 'events' }, { seed: 3 });
    await closed.act({ action: 'click', x: 30, y: 40 });
    const reply = await closed.act({ action: 'key', keys: ['ctrl', 'w'] });
    expect(reply).toMatchObject({ outcome: 'application_closed', done: true });
    expect(await closed.close()).toMatchObject({ title: 'events 3', events: expect.anything() as unknown });
  }, 60_000);

  it('a page that never ends its work fails as too slow, and leaves nothing', async () => {
    const stuck = await lab.play({ page: 'events' });
    lab.addPage('stuck', '<script>window.uirl = { reset() { for (;;); } }</script>');
    expect(await lab.open({ page: 'stuck' }, { deadlineMs: 6_000 })).toMatchObject({
      error: { code: 'deadline' },
    });
    await stuck.close();
    expect(lab.traces()).toEqual([]);
  }, 90_000);
});
