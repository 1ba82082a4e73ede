import sharp from 'sharp';
import { Lab, type Player } from '../../test/support';

const VIEWPORT = { width: 400, height: 330 };
/** The center of a calendar cell below a control that is 30 pixels high. */
const day = (column: number, row: number): [number, number] => [
  25 + column * 28,
  30 + 44 + 28 + row * 28 + 14,
];
const NEXT: [number, number] = [190, 52];
const PREVIOUS: [number, number] = [158, 52];
const TITLE: [number, number] = [50, 52];
const CLEAR: [number, number] = [30, 290];
/** The center of a clock value; rows are 36 pixels high. */
const value = (column: number, row: number, left = 0): [number, number] => [
  left + 32 + column * 56,
  30 + 4 + row * 36 + 18,
];
const ICON: [number, number] = [188, 15];

interface State {
  value: string;
  log: string[];
}

describe('the picker of', () => {
  const lab = new Lab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  let count = 0;
  async function open(
    type: string,
    attributes: string,
    options: Record<string, unknown> = {},
  ): Promise<Player> {
    const page = `p${count++}`;
    lab.page(
      page,
      `<body style="margin: 0; height: 100vh"><input id="d" type="${type}" ${attributes} style="position: absolute; left: 0; top: 0; width: 200px; height: 30px; box-sizing: border-box">
       <script>
         const log = [];
         for (const type of ['input', 'change', 'mousedown', 'keydown', 'touchstart']) addEventListener(type, (e) => log.push(type + ' ' + (e.target.id || e.target.localName)));
         window.uirl = { state: () => ({ value: d.value, log: [...log] }) };
       </script>`,
    );
    return lab.open({ page, viewport: VIEWPORT, ...options });
  }

  async function play(player: Player, ...places: [number, number][]): Promise<State> {
    for (const [x, y] of places) await player.act({ action: 'click', x, y });
    return (await player.close()) as unknown as State;
  }

  const opening = ['mousedown d'];
  const set = ['input d', 'change d'];

  // 15 January 2026 is a Thursday, in the third row of its month.
  it.each<[string, string, [number, number][], string]>([
    ['a day', 'date', [day(2, 1)], '2026-01-06'],
    ['a day of the month before, in its first row', 'date', [day(0, 0)], '2025-12-28'],
    ['a day of the next month', 'date', [NEXT, day(0, 0)], '2026-02-01'],
    ['a day of a month before', 'date', [PREVIOUS, PREVIOUS, day(6, 0)], '2025-11-01'],
    ['a day of another year', 'date', [TITLE, TITLE, [50, 100], [50, 100], day(1, 1)], '2016-01-04'],
    ['no day', 'date', [CLEAR], ''],
    ['a day of a time', 'datetime-local', [day(2, 1)], '2026-01-06T13:05'],
    ['a week', 'week', [[100, day(0, 1)[1]]], '2026-W02'],
    ['a month', 'month', [[180, 140]], '2026-06'],
    ['a month of another year', 'month', [NEXT, [180, 140]], '2027-06'],
    ['an hour', 'time', [value(0, 2)], '15:05'],
    ['a minute', 'time', [value(1, 3)], '13:08'],
    ['AM', 'time', [value(2, 0)], '01:05'],
    ['all parts of a time', 'time', [value(0, 1), value(1, 6), value(2, 0)], '02:11'],
    [
      'a time beside a day',
      'datetime-local',
      [day(5, 4), value(2, 0, 218).map((at, i) => at + i * 10) as [number, number]],
      '2026-01-30T01:05',
    ],
  ])('%s: %s', async (_, type, places, expected) => {
    const initial: Record<string, string> = {
      ...{ date: '2026-01-15', week: '2026-W03', month: '2026-01', time: '13:05' },
      'datetime-local': '2026-01-15T13:05',
    };
    const player = await open(type, `value="${initial[type]}"`);
    const state = await play(player, ICON, ...places);
    expect(state.value).toBe(expected);
    const isTime = type.includes('time');
    const last = isTime ? ['input d'] : set;
    expect(state.log.slice(-last.length)).toEqual(last);
    expect(state.log.filter((line) => line === 'mousedown d')).toEqual(opening);
  });

  it('dates is found in the screenshot by what is chosen', async () => {
    const player = await open('date', 'value="2026-01-15"');
    const { screenshot } = await player.act({ action: 'click', x: ICON[0], y: ICON[1] });
    const [x, y] = day(4, 2);
    const pixel = await sharp(screenshot.png)
      .removeAlpha()
      .extract({ left: x - 11, top: y - 11, width: 1, height: 1 })
      .raw()
      .toBuffer();
    expect([...pixel]).toEqual([0, 117, 255]);
    await player.close();
  });

  it('times tells of a change when a press elsewhere closes it', async () => {
    const player = await open('time', 'value="13:05"');
    const state = await play(player, ICON, value(0, 2), [380, 320]);
    expect(state).toEqual({ value: '15:05', log: ['mousedown d', 'input d', 'change d', 'mousedown body'] });
  });

  it('times turns by the wheel, and begins anew after its end', async () => {
    const player = await open('time', 'value="13:05"');
    await player.act({ action: 'click', x: ICON[0], y: ICON[1] });
    const [x, y] = value(1, 0);
    await player.act({ action: 'scroll', direction: 'up', amount: 2, x, y });
    expect((await play(player, [x, y])).value).toBe('13:59');
  });

  it.each([
    { keys: ['right', 'down', 'enter'], value: '2026-01-23', change: true },
    { keys: ['page_down', 'enter'], value: '2026-02-01', change: true },
    { keys: ['left', 'escape'], value: '2026-01-15', change: false },
  ])('dates is played by keys: $keys', async ({ keys, value: expected, change }) => {
    const player = await open('date', 'value="2026-01-15"');
    await player.act({ action: 'click', x: ICON[0], y: ICON[1] });
    for (const key of keys) await player.act({ action: 'key', keys: [key] });
    const { value: found, log } = (await player.close()) as unknown as State;
    expect(found).toBe(expected);
    expect(log.includes('change d')).toBe(change);
    expect(log.filter((line) => line.startsWith('keydown'))).toEqual([]);
  });

  it.each<[string, string, [number, number], string]>([
    ['date', 'value="2026-01-15" min="2026-01-10" max="2026-01-20"', day(3, 1), '2026-01-15'],
    ['date', 'value="2026-01-15" min="2026-01-01" step="7"', day(4, 3), '2026-01-22'],
    ['date', 'value="2026-01-15" min="2026-01-01" step="7"', day(5, 3), '2026-01-15'],
    ['month', 'value="2026-03" min="2026-02"', [50, 120], '2026-03'],
    ['time', 'value="09:15" step="900"', value(1, 3), '09:45'],
    ['time', 'value="09:15" max="10:00"', value(0, 2), '09:15'],
    ['date', 'value="2026-01-15" required', CLEAR, '2026-01-15'],
  ])('a %s with %s takes what it allows', async (type, attributes, place, expected) => {
    expect((await play(await open(type, attributes), ICON, place)).value).toBe(expected);
  });

  it.each([{ scale: 2 }, { scale: 0.5 }, { input: 'touch' }])(
    'dates is clicked on any screenshot: %j',
    async (options) => {
      const scale = options.scale ?? 1;
      const scaled = ([x, y]: [number, number]): [number, number] => [
        Math.round(x * scale),
        Math.round(y * scale),
      ];
      const player = await open('date', 'value="2026-01-15"', options);
      expect((await play(player, scaled(ICON), scaled(NEXT), scaled(day(3, 2)))).value).toBe('2026-02-18');
    },
  );

  it('dates is drawn smaller where the screen is smaller than it', async () => {
    const player = await open('date', 'value="2026-01-15"', { viewport: { width: 210, height: 140 } });
    // Drawn at half size, at the lower edge.
    const [x, y] = day(2, 1);
    const state = await play(player, ICON, [Math.round(x / 2), Math.round((y - 30) / 2)]);
    expect(state.value).toBe('2026-01-06');
  });

  it('colors takes clicks, drags and digits', async () => {
    const player = await open('color', 'value="#000000"');
    await player.act({ action: 'click', x: 100, y: 15 });
    await player.act({ action: 'drag', from: [20, 100], to: [399, 31] });
    // Green is at a third of the hue bar.
    await player.act({ action: 'click', x: 84 + 44, y: 30 + 160 });
    const { screenshot } = await player.act({ action: 'wait', seconds: 0 });
    const { data } = await sharp(screenshot.png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const swatch = [...data.subarray(((30 + 160) * VIEWPORT.width + 58) * 3).subarray(0, 3)];
    expect(swatch[0]).toBeLessThan(10);
    expect(swatch[1]).toBeGreaterThan(245);
    expect(swatch[2]).toBeLessThan(10);
    await player.act({ action: 'click', x: 180, y: 30 + 200 });
    await player.act({ action: 'type', text: '255' });
    await player.act({ action: 'key', keys: ['enter'] });
    const { value: found, log } = (await player.close()) as unknown as State;
    expect(found).toMatch(/^#0[0-9a-f]f[0-9a-f]ff$/);
    expect(log).toEqual(['mousedown d', 'input d', 'input d', 'input d', 'change d']);
  });

  it('colors goes back by Escape', async () => {
    const player = await open('color', 'value="#123456"');
    await player.act({ action: 'click', x: 100, y: 15 });
    await player.act({ action: 'click', x: 200, y: 60 });
    await player.act({ action: 'key', keys: ['escape'] });
    const { value: found, log } = (await player.close()) as unknown as State;
    expect(found).toBe('#123456');
    expect(log).not.toContain('change d');
  });
});
