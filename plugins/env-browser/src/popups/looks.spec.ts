import { chromium } from 'playwright';
import { differing } from '../../test/colors';
import { browserPath, Lab } from '../../test/support';

const VIEWPORT = { width: 320, height: 240 };
const WIDGETS = `<body style="margin: 0; font: 13px sans-serif">
  <select id="s"><option>one<option>two</select> <select multiple size="3"><option>one<option selected>two<option>three</select>
  <select style="appearance: none; border: 2px solid red; padding: 5px"><option>own style</select>
  <select disabled><option>disabled</select><br>
  <input type="date" value="2026-01-15"> <input type="month"> <input type="week"><br> <input type="time" value="10:30"> <input type="color"><br>
  <input type="datetime-local"> <input list="x" value="text"><datalist id="x"><option>a</datalist>
  <details open><summary>more</summary>details</details>`;

describe('a page with controls', () => {
  const lab = new Lab();
  beforeAll(() => lab.start());
  afterAll(() => lab.stop());

  it('looks as it does without this environment, as long as no popup is open', async () => {
    lab.page('widgets', WIDGETS);
    const player = await lab.open({ page: 'widgets', viewport: VIEWPORT });
    const { screenshot } = await player.act({ action: 'move', x: 300, y: 230 });
    const browser = await chromium.launch({ executablePath: browserPath() });
    const page = await browser.newPage({ viewport: VIEWPORT, reducedMotion: 'reduce', locale: 'en-US' });
    await page.setContent(`<!doctype html>${WIDGETS}`);
    expect(await differing(screenshot.png, await page.screenshot())).toBe(0);
    await browser.close();
    await player.close();
  });

  it('changes by an open list only where the list is, and the focus', async () => {
    lab.page(
      'one',
      `<body style="margin: 0"><select id="s" style="width: 100px; height: 20px; outline: none"><option>one<option>two</select>
      <p style="position: absolute; left: 0; top: 120px">below`,
    );
    const player = await lab.open({ page: 'one', viewport: VIEWPORT });
    const focused = await player.act({ action: 'key', keys: ['tab'] });
    const opened = await player.act({ action: 'click', x: 50, y: 10 });
    const changed = await differing(focused.screenshot.png, opened.screenshot.png);
    // A hovered control has a different border.
    expect(changed).toBeGreaterThan(2_000);
    expect(changed).toBeLessThanOrEqual(100 * 50 + 300);
    const again = await player.act({ action: 'click', x: 50, y: 10 });
    const reopened = await player.act({ action: 'click', x: 50, y: 10 });
    expect(again.screenshot.sha256).not.toBe(reopened.screenshot.sha256);
    expect(reopened.screenshot.sha256).toBe(opened.screenshot.sha256);
    await player.close();
  });

  it('tells an open list as text, and nothing as reachable that lies below it', async () => {
    const texts = new Lab();
    texts.page(
      'list',
      `<body style="margin: 0"><select style="position: absolute; left: 0; top: 0; width: 100px; height: 20px"><option>one<option disabled>two</select>
       <button style="position: absolute; left: 0; top: 25px; width: 90px; height: 30px">below</button>`,
    );
    await texts.start({ observation: 'both' });
    const player = await texts.open({ page: 'list', viewport: VIEWPORT });
    const textOf = ({ text }: { text?: string }) => text ?? '';
    expect(textOf(player.first)).toContain('button "below" (45,40)');
    const opened = textOf((await player.act({ action: 'click', x: 50, y: 10 })).screenshot);
    expect(opened).toContain(
      ' popup "list"\n  option "one" selected (50,33)\n  option "two" disabled (50,57)',
    );
    expect(opened).toMatch(/button "below"$/m);
    const closed = textOf((await player.act({ action: 'click', x: 50, y: 33 })).screenshot);
    expect(closed).toContain('button "below" (45,40)');
    expect(closed).not.toContain('popup');
    await player.close();
    await texts.stop();
  });
});
