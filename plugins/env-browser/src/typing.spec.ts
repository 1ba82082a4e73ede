import { TYPED_TEXTS } from '@ui-rl/testkit';
import { Lab } from '../test/support';

/**
 * Records typed text, and how often each event was sent. Tab is kept as a character in the text area and moves the
 * focus elsewhere.
 */
const PAGE = `
<style>body, form { margin: 0 } input, textarea { display: block; box-sizing: border-box; width: 150px; height: 30px }</style>
<input id="a"><input id="b">
<textarea id="area"></textarea>
<form onsubmit="event.preventDefault(); counts.submit++"><input id="c"></form>
<script>
  const counts = { keydown: 0, keypress: 0, keyup: 0, input: 0, Enter: 0, Tab: 0, submit: 0 };
  for (const type of ['keydown', 'keypress', 'input', 'keyup'])
    addEventListener(type, (event) => {
      counts[type]++;
      if (type === 'keydown' && event.key in counts) counts[event.key]++;
      if (type === 'keydown' && event.key === 'Tab' && event.target === area) {
        event.preventDefault();
        area.value += '\\t';
      }
    }, true);
  window.uirl = { state: () => ({ a: a.value, b: b.value, c: c.value, area: area.value, counts, focus: document.activeElement.id }) };
</script>`;

/** Positions of the fields. */
const AT = { a: { x: 20, y: 15 }, area: { x: 20, y: 75 }, c: { x: 20, y: 105 } };

interface State {
  a: string;
  b: string;
  c: string;
  area: string;
  counts: Record<string, number>;
  focus: string;
}

describe('typing', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.page('typing', PAGE);
    await lab.start();
  });
  afterAll(() => lab.stop());

  async function typeInto(field: keyof typeof AT, text: string, deadlineMs?: number) {
    const player = await lab.open({ page: 'typing' });
    await player.act({ action: 'click', ...AT[field] });
    const reply = await player.ask({ action: 'type', text }, deadlineMs);
    const outcome = reply.ok ? reply.value.outcome : reply.error.code;
    return { outcome, ...((await player.close()) as unknown as State) };
  }

  it.each(TYPED_TEXTS)('$text is typed as in every environment', async ({ text, typed, outcome }) => {
    const state = await typeInto('area', text);
    expect({ area: state.area, outcome: state.outcome }).toEqual({ area: typed, outcome });
    expect(state.counts).toMatchObject({
      Enter: typed.split('\n').length - 1,
      Tab: typed.split('\t').length - 1,
    });
  });

  it.each([
    ['John\tDoe', 'John', 'Doe'],
    [`${'x'.repeat(300)}\tDoe`, 'x'.repeat(300), 'Doe'],
    ['\tDoe', '', 'Doe'],
  ])('a tab goes to the next field: %j', async (text, a, b) => {
    expect(await typeInto('a', text)).toMatchObject({ outcome: 'ok', a, b, focus: 'b' });
  });

  it.each(['q\n', 'q\r\n', 'q\r', `${'q'.repeat(300)}\r\n`])(
    'a line break submits a form once: %j',
    async (text) => {
      expect(await typeInto('c', text)).toMatchObject({ c: text.trim(), counts: { Enter: 1, submit: 1 } });
    },
  );

  it.each(['k', 'é', '日', '😀', 'ß\u00a0ñ'])(
    'each character is a key, whether a keyboard has it or not: %s',
    async (text) => {
      const count = Array.from(text).length;
      const { a, counts } = await typeInto('a', text);
      expect(a).toBe(text);
      expect(counts).toMatchObject({ keydown: count, keypress: count, input: count, keyup: count });
    },
  );

  it('a text of more than 256 characters is inserted, and its keys are none', async () => {
    const keys = async (length: number) => {
      const { a, counts } = await typeInto('a', 'k'.repeat(length));
      return { length: a.length, ...counts };
    };
    expect(await keys(256)).toMatchObject({
      length: 256,
      keydown: 256,
      keypress: 256,
      keyup: 256,
      input: 256,
    });
    expect(await keys(257)).toMatchObject({ length: 257, keydown: 0, keypress: 0, keyup: 0, input: 1 });
  });

  it('a text that takes longer than there is time is cut short, and the episode continues', async () => {
    // Slightly more than the time reserved for the screenshot.
    const { outcome, area } = await typeInto('area', '\n'.repeat(9_000), 3_000);
    expect(outcome).toBe('cut_short');
    expect(area.length).toBeGreaterThan(0);
    expect(area.length).toBeLessThan(9_000);
  });
});
