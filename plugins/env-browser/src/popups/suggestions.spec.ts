import { Lab, type Player } from '../../test/support';

const VIEWPORT = { width: 320, height: 240 };
const FIELD = 'position: absolute; left: 0; top: 0; width: 200px; height: 30px; box-sizing: border-box';
/** The center of a list row, 24 pixels high. */
const row = (index: number): [number, number] => [60, 31 + index * 24 + 12];
const ORANGE = ['apple', 'banana', 'orange', 'blood orange'];

interface State {
  value: string;
  log: string[];
}

describe('suggestions for a text field', () => {
  const lab = new Lab();
  beforeAll(() => lab.start({ observation: 'both' }));
  afterAll(() => lab.stop());

  let count = 0;
  async function open(field: string, options: Record<string, unknown> = {}): Promise<Player> {
    const page = `p${count++}`;
    lab.page(
      page,
      `<body style="margin: 0">${field}<datalist id="x">${ORANGE.map((value) => `<option value="${value}">`).join('')}
       <option value="DE" label="Germany"><option value="no" disabled></datalist>
       <button id="under" style="position: absolute; left: 0; top: 32px; width: 200px; height: 180px">under</button>
       <script>
         const log = [];
         for (const type of ['input', 'change', 'click']) addEventListener(type, (e) => log.push(type + ' ' + (e.target.id || 'page')));
         window.uirl = { state: () => ({ value: document.querySelector('input').value, log: [...log] }) };
       </script>`,
    );
    return lab.open({ page, viewport: VIEWPORT, ...options });
  }
  const field = `<input id="f" list="x" style="${FIELD}">`;

  const click = (player: Player, [x, y]: [number, number]) => player.act({ action: 'click', x, y });
  const shownIn = ({ text = '' }: { text?: string }) =>
    [
      ...text
        .split('popup "suggestions"')
        .slice(1)
        .join()
        .matchAll(/option "([^"]*)"/g),
    ].map(([, name]) => name);

  it.each([{}, { input: 'touch' }])('are shown by a click and chosen by a click: %j', async (options) => {
    const player = await open(field, options);
    const { screenshot } = await click(player, [100, 15]);
    expect(shownIn(screenshot)).toEqual([...ORANGE, 'DE — Germany']);
    expect(shownIn((await click(player, row(2))).screenshot)).toEqual([]);
    const state = (await player.close()) as unknown as State;
    expect(state).toEqual({ value: 'orange', log: ['click f', 'input f', 'change f'] });
  });

  it('are those that hold what was typed, in their value or label', async () => {
    const player = await open(field);
    await click(player, [100, 15]);
    expect(shownIn((await player.act({ action: 'type', text: 'AN' })).screenshot)).toEqual([
      'banana',
      'orange',
      'blood orange',
      'DE — Germany',
    ]);
    expect(shownIn((await player.act({ action: 'key', keys: ['backspace'] })).screenshot)).toHaveLength(5);
    await player.act({ action: 'key', keys: ['ctrl', 'a'] });
    expect(shownIn((await player.act({ action: 'type', text: 'ger' })).screenshot)).toEqual(['DE — Germany']);
    expect(shownIn((await click(player, row(0))).screenshot)).toEqual([]);
    expect(((await player.close()) as unknown as State).value).toBe('DE');
  });

  it('are played by keys, and leave other keys to the field', async () => {
    const player = await open(field);
    await click(player, [100, 15]);
    await player.act({ action: 'type', text: 'o' });
    await player.act({ action: 'key', keys: ['down'] });
    await player.act({ action: 'key', keys: ['down'] });
    await player.act({ action: 'key', keys: ['enter'] });
    await player.act({ action: 'key', keys: ['escape'] });
    await player.act({ action: 'type', text: '!' });
    expect(((await player.close()) as unknown as State).value).toBe('blood orange!');
  });

  it('close by Escape and by a press elsewhere, which the page gets', async () => {
    const player = await open(field);
    await click(player, [100, 15]);
    expect(shownIn((await player.act({ action: 'key', keys: ['escape'] })).screenshot)).toEqual([]);
    expect(shownIn((await player.act({ action: 'key', keys: ['down'] })).screenshot)).toHaveLength(5);
    expect(shownIn((await click(player, [100, 200])).screenshot)).toEqual([]);
    expect(((await player.close()) as unknown as State).log).toContain('click under');
  });

  it.each([
    ['without a list', `<input id="f" style="${FIELD}">`],
    ['that is read only', `<input id="f" readonly list="x" style="${FIELD}">`],
    ['whose value is the only one', `<input id="f" list="x" value="apple" style="${FIELD}">`],
  ])('are not shown for a field %s', async (_, other) => {
    const player = await open(other);
    expect(shownIn((await click(player, [100, 15])).screenshot)).toEqual([]);
    await player.close();
  });
});

describe('the menu of a right click', () => {
  const lab = new Lab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  it.each([
    ['the browser’s own', '', 'context_menu_not_shown'],
    ['one of the page', `addEventListener('contextmenu', (e) => e.preventDefault())`, 'ok'],
    ['no menu, where the page stops it', `document.body.oncontextmenu = () => false`, 'ok'],
  ])('is %s', async (what, script, outcome) => {
    lab.page(what.replaceAll(/\W/g, ''), `<body style="height: 100vh"><script>${script}</script>`);
    const player = await lab.open({ page: what.replaceAll(/\W/g, '') });
    expect((await player.act({ action: 'right_click', x: 50, y: 50 })).outcome).toBe(outcome);
    expect((await player.act({ action: 'click', x: 50, y: 50 })).outcome).toBe('ok');
    await player.close();
  });
});
