import { devices } from 'playwright';
import { Lab, type Player } from '../test/support';
import { readPageSpec } from './page-spec';

/** A page that reports its screen and where it was hit. @param meta whether it has a viewport meta tag for phones */
const page = (
  meta: boolean,
) => `${meta ? '<meta name="viewport" content="width=device-width, initial-scale=1">' : ''}
<style>
  body { margin: 0; background: #fff } #at { position: absolute; left: 120px; top: 300px; width: 40px; height: 30px; background: #f00; border: 0; padding: 0 }
</style>
<button id="at" aria-label="At"></button>
<script>
  const log = [];
  for (const type of ['touchstart', 'mousedown', 'click'])
    addEventListener(type, (e) => log.push(type + ' ' + e.target.id));
  window.uirl = { state: () => ({
    log: [...log], width: innerWidth, ratio: devicePixelRatio, touch: navigator.maxTouchPoints > 0, agent: navigator.userAgent,
    screen: screen.width,
  }) };
</script>`;

/** The center of the red area in a screenshot. */
async function redIn({ png }: Player['first']): Promise<[number, number]> {
  const { default: sharp } = await import('sharp');
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const [xs, ys]: [number[], number[]] = [[], []];
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] < 200 || data[at + 1] > 60) continue;
    xs.push((at / 3) % info.width);
    ys.push(Math.floor(at / 3 / info.width));
  }
  const middle = (all: number[]) => Math.round((all[0] + all[all.length - 1]) / 2);
  return [middle(xs.toSorted((a, b) => a - b)), middle(ys)];
}

/** Pixels at the corners of the red area, and some far outside: a finger is wider than a pixel. */
async function cornersOf(
  first: Player['first'],
): Promise<{ within: [number, number][]; outside: [number, number][] }> {
  const { default: sharp } = await import('sharp');
  const { data, info } = await sharp(first.png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
  for (let at = 0; at < data.length; at += 3) {
    if (data[at] < 250 || data[at + 1] > 5) continue;
    const [x, y] = [(at / 3) % info.width, Math.floor(at / 3 / info.width)];
    [left, top, right, bottom] = [
      Math.min(left, x),
      Math.min(top, y),
      Math.max(right, x),
      Math.max(bottom, y),
    ];
  }
  return {
    within: [
      [left, top],
      [right, bottom],
    ],
    outside: [
      [left - 100, top],
      [right + 100, bottom],
    ],
  };
}

describe('a device', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.page('phone', page(true));
    lab.page('desktop', page(false));
    await lab.start({ observation: 'both', emulated_device: 'Pixel 7' });
  });
  afterAll(() => lab.stop());

  const pixel = devices['Pixel 7'];

  it('shows a page as it would, touches it, and takes pixels of its screenshot', async () => {
    const player = await lab.open({ page: 'phone', viewport: undefined });
    const { first } = player;
    expect(Math.abs(first.width - pixel.viewport.width * pixel.deviceScaleFactor)).toBeLessThan(1);
    const { within, outside } = await cornersOf(first);
    for (const [x, y] of [...within, ...outside]) await player.act({ action: 'click', x, y });
    const state = await player.close();
    expect(state).toMatchObject({
      width: pixel.viewport.width,
      ratio: pixel.deviceScaleFactor,
      touch: true,
      agent: pixel.userAgent,
    });
    const log = state!.log as string[];
    const touched = log.filter((line) => line.startsWith('touchstart'));
    expect(touched).toEqual(['touchstart at', 'touchstart at', 'touchstart ', 'touchstart ']);
  });

  it.each([{ scale: undefined }, { scale: 1 }, { scale: 0.5 }])(
    'tells places in pixels of the screenshot, also of a page that says nothing of phones: %j',
    async ({ scale }) => {
      for (const name of ['phone', 'desktop']) {
        const player = await lab.open({ page: name, viewport: undefined, scale });
        const { first } = player;
        const width = pixel.viewport.width * (scale ?? pixel.deviceScaleFactor);
        expect(Math.abs(first.width - width)).toBeLessThan(1);
        const place = /button "At" \((\d+),(\d+)\)/.exec(first.text ?? '')!;
        const [x, y] = [Number(place[1]), Number(place[2])];
        const red = await redIn(first);
        expect(Math.hypot(x - red[0], y - red[1])).toBeLessThan(2);
        await player.act({ action: 'click', x, y });
        expect((await player.close())!.log).toContain('click at');
      }
    },
  );

  it('gives way to what a task says itself: viewport, scale, input, another device', async () => {
    const own = { viewport: { width: 200, height: 340 }, scale: 1, input: 'mouse' };
    const player = await lab.open({ page: 'phone', ...own });
    expect([player.first.width, player.first.height]).toEqual([200, 340]);
    await player.act({ action: 'click', x: 130, y: 310 });
    expect(await player.close()).toMatchObject({
      log: ['mousedown at', 'click at'],
      ratio: pixel.deviceScaleFactor,
      agent: pixel.userAgent,
    });
    const other = await lab.open({ page: 'phone', viewport: undefined, device: 'Desktop Chrome' });
    expect(other.first.width).toBe(1280);
    expect(await other.close()).toMatchObject({ touch: false, agent: devices['Desktop Chrome'].userAgent });
  });

  it('whose name is misspelt is refused, with the name that may be meant', async () => {
    const task = {
      description: 'x',
      environment: { kind: 'browser', options: { url: 'https://a.example', device: 'Pixle 7' } },
    };
    const rules = { pages: {}, absentPages: {}, scripts: {}, privateOrigins: new Set<string>(), devices };
    expect(() => readPageSpec(task, rules)).toThrow(
      /"device" is "Pixle 7", none of Playwright's \d+ devices.*Did you mean "Pixel 7"/,
    );
    const lost = new Lab();
    await expect(lost.start({ emulated_device: 'iPhne 14' })).rejects.toThrow(
      /environment\.kind\.emulated_device.*"iPhone 14"/,
    );
    await lost.stop();
  });
});
