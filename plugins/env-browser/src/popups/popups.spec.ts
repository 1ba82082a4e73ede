import { middleOf } from '../../test/colors';
import { Lab, type Player } from '../../test/support';

const RED = [250, 10, 10] as const;
const GREEN = [10, 250, 10] as const;
const BLUE = [10, 10, 250] as const;
const GRAY = [150, 151, 152] as const;
type Color = typeof RED | typeof GREEN | typeof BLUE | typeof GRAY;
const css = (color: Color) => `rgb(${color.join()})`;

const VIEWPORT = { width: 320, height: 240 };
const EVENTS =
  'mousedown mouseup click input change keydown keyup focus blur pointerdown touchstart wheel'.split(' ');

/** Records in the state what page scripts can observe of the popup. */
const RECORD = `<script>
  const log = [];
  const name = (e) => e.type + ' ' + (e.target.id || e.target.localName || 'window');
  for (const type of ${JSON.stringify(EVENTS)}) addEventListener(type, (e) => log.push(name(e)), true);
  new MutationObserver(() => log.push('mutation')).observe(document, { childList: true, subtree: true, attributes: true });
  window.uirl = { state: () => ({ log: [...log], value: document.querySelector('select, input')?.value, nodes: document.querySelectorAll('*').length }) };
</script>`;

const OPTIONS = `<option value="none">None<option value="red" style="background: ${css(RED)}">Red
  <optgroup label="More"><option value="green" style="background: ${css(GREEN)}">Green</optgroup>
  <option value="gray" disabled style="background: ${css(GRAY)}">Gray<hr>
  <option value="hidden" hidden>Hidden<option value="blue" style="background: ${css(BLUE)}">Blue`;

const BODY = 'margin: 0; font: 13px sans-serif; background: #fff';
const select = (style = 'left: 0; top: 0', attributes = '') =>
  `<select id="s" ${attributes} style="position: absolute; ${style}; width: 120px; height: 30px">${OPTIONS}</select>`;
const UNDER = `<button id="under" style="position: absolute; left: 0; top: 32px; width: 200px; height: 200px">under</button>`;

interface State {
  log: string[];
  value: string;
  nodes: number;
}

describe('the list of a select', () => {
  const lab = new Lab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  let count = 0;
  async function open(body: string, options: Record<string, unknown> = {}): Promise<Player> {
    const page = `p${count++}`;
    lab.page(page, `<body style="${BODY}">${body}${RECORD}`);
    return lab.open({ page, viewport: VIEWPORT, ...options });
  }

  async function click(player: Player, at: readonly [number, number] | null, action = 'click') {
    if (at === null) throw new Error('what is to be clicked is not in the screenshot');
    return (await player.act({ action, x: Math.floor(at[0]), y: Math.floor(at[1]) })).screenshot.png;
  }

  it.each([
    { scale: 1 },
    { scale: 0.5 },
    { scale: 2 },
    { input: 'touch' },
    { scale: 2.625, device: 'Pixel 7' },
    { scale: 1, device: 'Pixel 7' },
  ])('is clicked where the screenshot shows it: %j', async (options) => {
    const scale = options.scale ?? 1;
    const player = await open(select() + UNDER, options);
    const opened = await click(player, [60 * scale, 15 * scale]);
    const after = await click(player, await middleOf(opened, GREEN));
    expect(await middleOf(after, GREEN)).toBeNull();
    expect(await middleOf(await click(player, [60 * scale, 15 * scale]), RED)).not.toBeNull();
    const { value, log } = (await player.close()) as unknown as State;
    expect(value).toBe('green');
    expect(log.filter((line) => line.includes('under'))).toEqual([]);
  });

  it('tells the page what the browser tells, and nothing else', async () => {
    const player = await open(select() + UNDER);
    const opened = await click(player, [60, 15]);
    await player.act({ action: 'move', x: 60, y: 70 });
    await player.act({ action: 'scroll', direction: 'down', amount: 1, x: 60, y: 70 });
    await click(player, await middleOf(opened, BLUE));
    const { log, nodes } = (await player.close()) as unknown as State;
    expect(log).toEqual([
      ...['pointerdown s', 'mousedown s', 'focus s', 'mouseup s', 'click s'],
      ...['input s', 'change s', 'click s'],
    ]);
    const plain = await open(select() + UNDER);
    expect(((await plain.close()) as unknown as State).nodes).toBe(nodes);
  });

  it.each([['drag'], ['swipe']])('is chosen from by a %s from the select to an option', async (action) => {
    const player = await open(select() + UNDER);
    const opened = await click(player, [60, 15]);
    const to = await middleOf(opened, GREEN);
    await player.act({ action: 'key', keys: ['escape'] });
    await player.act({ action, from: [60, 15], to: to! });
    const { value, log } = (await player.close()) as unknown as State;
    expect(value).toBe('green');
    expect(log.filter((line) => line.includes('under'))).toEqual([]);
  });

  it.each([['double_click'], ['triple_click'], ['long_press']])('takes a %s on an option', async (action) => {
    const player = await open(select() + UNDER);
    const opened = await click(player, [60, 15]);
    await click(player, await middleOf(opened, RED), action);
    const { value, log } = (await player.close()) as unknown as State;
    expect(value).toBe('red');
    expect(log.filter((line) => line.includes('under'))).toEqual([]);
  });

  it('stays open at a press on what cannot be chosen', async () => {
    const player = await open(select() + UNDER);
    const opened = await click(player, [60, 15]);
    const gray = await middleOf(opened, GRAY);
    const still = await click(player, gray);
    const [, redY] = (await middleOf(still, RED))!;
    const [, greenY] = (await middleOf(still, GREEN))!;
    const onGroup = await click(player, [20, Math.round((redY + greenY) / 2)]);
    await click(player, await middleOf(onGroup, RED));
    expect(((await player.close()) as unknown as State).value).toBe('red');
  });

  it('closes at a press elsewhere, which the page gets, and at a press on its select', async () => {
    const player = await open(select() + UNDER.replace('left: 0', 'left: 130px'));
    await click(player, [60, 15]);
    const after = await click(player, [250, 100]);
    expect(await middleOf(after, RED)).toBeNull();
    await click(player, [60, 15]);
    const toggled = await click(player, [60, 15]);
    expect(await middleOf(toggled, RED)).toBeNull();
    const again = await click(player, [60, 15]);
    expect(await middleOf(again, RED)).not.toBeNull();
    const { value, log } = (await player.close()) as unknown as State;
    expect(value).toBe('none');
    expect(log).toEqual(expect.arrayContaining(['mousedown under', 'click under']));
    expect(log).not.toContain('change s');
  });

  it.each([
    { keys: ['down', 'enter'], value: 'red' },
    { keys: ['down', 'down', 'down', 'enter'], value: 'blue' },
    { keys: ['end', 'up', 'tab'], value: 'green' },
    { keys: ['end', 'home', 'enter'], value: 'none' },
    { keys: ['page_down', 'enter'], value: 'blue' },
    { keys: ['g', 'enter'], value: 'green' },
    { keys: ['down', 'escape'], value: 'none' },
  ])('is played by keys: $keys', async ({ keys, value }) => {
    const player = await open(select() + UNDER);
    await click(player, [60, 15]);
    for (const key of keys) await player.act({ action: 'key', keys: [key] });
    const state = (await player.close()) as unknown as State;
    expect(state.value).toBe(value);
    expect(state.log.filter((line) => /change|input/.test(line))).toEqual(
      value === 'none' ? [] : ['input s', 'change s'],
    );
  });

  it('opens by a key, takes text, and keeps what keys have reached when a press elsewhere closes it', async () => {
    const player = await open(select() + UNDER.replace('left: 0', 'left: 130px'));
    await player.act({ action: 'key', keys: ['tab'] });
    const { screenshot } = await player.act({ action: 'key', keys: ['space'] });
    expect(await middleOf(screenshot.png, RED)).not.toBeNull();
    await player.act({ action: 'type', text: 'blu' });
    await click(player, [250, 100]);
    expect(((await player.close()) as unknown as State).value).toBe('blue');
  });

  it('scrolls, within the screen, by the wheel and by a finger', async () => {
    const long = Array.from(
      { length: 50 },
      (_, i) => `<option ${i === 30 ? `style="background: ${css(RED)}"` : ''}>${i}`,
    );
    const body = `<select id="s" style="position: absolute; left: 100px; top: 100px; width: 80px">${long.join('')}</select>`;
    for (const input of ['mouse', 'touch']) {
      const player = await open(body, { input });
      let png = await click(player, [140, 110]);
      for (let turn = 0; turn < 12 && (await middleOf(png, RED)) === null; turn += 1) {
        const scroll =
          input === 'touch'
            ? { action: 'swipe', from: [140, 200], to: [140, 130] }
            : { action: 'scroll', direction: 'down', amount: 1, x: 140, y: 150 };
        png = (await player.act(scroll)).screenshot.png;
      }
      await click(player, await middleOf(png, RED));
      const { value, log } = (await player.close()) as unknown as State;
      expect(value).toBe('30');
      expect(log).not.toContain('wheel html');
    }
  });

  it.each([
    ['at the lower edge', select('left: 0; bottom: 0'), [60, 225]],
    ['at the right edge', select('right: -80px; top: 20px'), [300, 35]],
    ['from right to left', select('right: 0; top: 0', 'dir="rtl"'), [260, 15]],
    [
      'in a dialog',
      `<dialog id="d" style="margin: 0; border: 0; padding: 0; left: 0; top: 0; width: 200px; height: 200px">${select()}</dialog><script>d.showModal()</script>`,
      [60, 15],
    ],
    [
      'in a popover',
      `<div id="d" popover style="margin: 0; border: 0; padding: 0; left: 0; top: 0; width: 200px; height: 40px">${select()}</div><script>d.showPopover()</script>`,
      [60, 15],
    ],
    [
      'in a page that is scrolled',
      `<div style="height: 2000px">${select('left: 0; top: 1000px')}</div><script>scrollTo(0, 990)</script>`,
      [60, 25],
    ],
    ['that is made larger', `<div style="zoom: 2">${select()}</div>`, [120, 30]],
    ['with own fonts', select('left: 0; top: 0; font: 26px serif'), [60, 15]],
  ] as const)('is clicked %s', async (_, body, at) => {
    const player = await open(body);
    const opened = await click(player, at);
    await click(player, await middleOf(opened, GREEN));
    expect(((await player.close()) as unknown as State).value).toBe('green');
  });

  it('of an open and of a closed shadow root', async () => {
    for (const mode of ['open', 'closed']) {
      const player =
        await open(`<div id="host"></div><input id="out" style="position: absolute; top: 200px"><script>
        const root = host.attachShadow({ mode: '${mode}' });
        root.innerHTML = ${JSON.stringify(select())};
        root.querySelector('select').onchange = (e) => { out.value = e.target.value; };
      </script>`);
      const opened = await click(player, [60, 15]);
      await click(player, await middleOf(opened, GREEN));
      expect(((await player.close()) as unknown as State).value).toBe('green');
    }
  });

  it('that the page opens itself, while another element has the focus', async () => {
    const player = await open(
      `${select('left: 0; top: 40px')}<button id="b" style="position: absolute; left: 0; top: 0; width: 100px; height: 30px" onclick="s.showPicker()">open</button>`,
    );
    const opened = await click(player, [50, 15]);
    await click(player, await middleOf(opened, RED));
    expect(((await player.close()) as unknown as State).value).toBe('red');
  });

  it('shows what the page has changed meanwhile, and goes with its select', async () => {
    const player = await open(
      `${select()}<script>s.onfocus = () => setTimeout(() => { s.options[1].remove(); }, 0);
       let presses = 0; addEventListener('keydown', () => s.remove());</script>`,
    );
    await click(player, [60, 15]);
    const changed = await player.act({ action: 'wait', seconds: 0.1 });
    expect(await middleOf(changed.screenshot.png, RED)).toBeNull();
    await click(player, await middleOf(changed.screenshot.png, GREEN));
    expect(((await player.close()) as unknown as State).value).toBe('green');
  });

  it('leaves lists that the page draws itself to the page', async () => {
    const own = `<style>#s, #s::picker(select) { appearance: base-select }</style>`;
    const player = await open(own + select());
    const opened = await click(player, [60, 15]);
    await click(player, await middleOf(opened, GREEN));
    const { value, log } = (await player.close()) as unknown as State;
    expect(value).toBe('green');
    expect(log.filter((line) => line === 'change s')).toHaveLength(1);
    const box = await open(
      `<select id="s" size="4" style="position: absolute; left: 0; top: 0; width: 120px">${OPTIONS}</select>`,
    );
    const shown = box.first.png;
    await click(box, await middleOf(shown, RED));
    expect(((await box.close()) as unknown as State).value).toBe('red');
  });

  it('opens and closes many times in a row, and does not outlive its episode', async () => {
    const body = select() + select('left: 150px; top: 0').replace('id="s"', 'id="second"');
    const player = await open(body);
    const first = player.first.sha256;
    const colors = { red: RED, green: GREEN, blue: BLUE };
    for (let round = 0; round < 3; round += 1) {
      for (const [value, color] of Object.entries(colors)) {
        await click(player, await middleOf(await click(player, [60, 15]), color));
        const opened = await click(player, [210, 15]);
        expect(await middleOf(opened, color)).not.toBeNull();
        await player.act({ action: 'key', keys: ['escape'] });
        expect(value).toBe(value);
      }
    }
    await click(player, [210, 15]);
    expect(((await player.close()) as unknown as State).value).toBe('blue');
    const again = await lab.open({ page: `p${count - 1}`, viewport: VIEWPORT });
    expect(again.first.sha256).toBe(first);
    await again.close();
  });
});
