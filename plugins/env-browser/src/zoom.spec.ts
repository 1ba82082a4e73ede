import sharp from 'sharp';
import { Lab, VIEWPORT } from '../test/support';

/** Four colors, a line of one pixel at x = 100, and text. */
const PAGE = `<body style="margin: 0; height: 600px; background: #fff">
  <div style="position: absolute; left: 0; top: 0; width: 80px; height: 112px; background: #f00"></div>
  <div style="position: absolute; left: 80px; top: 0; width: 80px; height: 112px; background: #0f0"></div>
  <div style="position: absolute; left: 100px; top: 112px; width: 1px; height: 112px; background: #000"></div>
  <select style="position: absolute; left: 4px; top: 120px; width: 60px"><option>one<option>two</select>
  <script>let clicks = []; onclick = ({ clientX, clientY }) => clicks.push([clientX, clientY]);
  window.uirl = { state: () => ({ clicks }) };</script>`;

describe('zoom', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.page('p', PAGE);
    await lab.start();
  });
  afterAll(() => lab.stop());

  const pixelsOf = async (png: Uint8Array) => {
    const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return (x: number, y: number) => [
      ...data.subarray(3 * (y * info.width + x), 3 * (y * info.width + x) + 3),
    ];
  };
  const [RED, GREEN, BLACK, WHITE] = [
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 0],
    [255, 255, 255],
  ];

  it.each([1, 2, 0.5])('shows a region at a higher resolution once, at scale %d', async (scale) => {
    const at = (x: number, y: number) => [x * scale, y * scale];
    const player = await lab.open({ page: 'p', scale });
    const size = { width: VIEWPORT.width * scale, height: VIEWPORT.height * scale };
    const whole = await player.act({ action: 'wait', seconds: 0 });
    // Half of the screen, around its middle.
    const zoomed = await player.act({ action: 'zoom', from: at(40, 56), to: at(120, 168) });
    expect(zoomed).toMatchObject({ outcome: 'ok', done: false, screenshot: size });
    const pixel = await pixelsOf(zoomed.screenshot.png);
    const place = (x: number, y: number) => pixel(Math.floor(x * scale), Math.floor(y * scale));
    expect(place(20, 50)).toEqual(RED);
    expect(place(140, 50)).toEqual(GREEN);
    expect(place(10, 200)).toEqual(WHITE);
    // The line of one pixel is two wide: not enlarged afterwards, which would blur it.
    if (scale >= 1) {
      expect([119, 120, 121, 122].map((x) => place(x, 200))).toEqual([WHITE, BLACK, BLACK, WHITE]);
    }
    // Coordinates are those of the whole screen, and the next observation shows it.
    const clicked = await player.act({ action: 'click', x: 30 * scale, y: 40 * scale });
    expect(clicked.screenshot.sha256).toBe(whole.screenshot.sha256);
    expect(await player.close()).toEqual({ clicks: [[30, 40]] });
  });

  it('shows what is scrolled into view, and an open list', async () => {
    const player = await lab.open({ page: 'p' });
    await player.act({ action: 'click', x: 30, y: 130 });
    const zoomed = await player.act({ action: 'zoom', from: [0, 112], to: [79, 223] });
    expect(zoomed).toMatchObject({ outcome: 'ok', screenshot: VIEWPORT });
    const open = await player.act({ action: 'move', x: 150, y: 10 });
    expect(open.screenshot.sha256).not.toBe(zoomed.screenshot.sha256);
    await player.act({ action: 'key', keys: ['escape'] });
    await player.act({ action: 'scroll', direction: 'down', amount: 1 });
    const scrolled = await player.act({ action: 'zoom', from: [80, 0], to: [159, 111] });
    const pixel = await pixelsOf(scrolled.screenshot.png);
    // 12 rows of green remain, enlarged twice.
    expect([pixel(150, 22), pixel(150, 26), pixel(41, 150)]).toEqual([GREEN, WHITE, BLACK]);
    await player.close();
  });

  it('outside of the screen shows the whole screen', async () => {
    const player = await lab.open({ page: 'p' });
    const { outcome, screenshot } = await player.act({ action: 'zoom', from: [0, 0], to: [160, 20] });
    expect(outcome).toBe('outside_viewport');
    expect(screenshot.sha256).toBe(player.first.sha256);
    await player.close();
  });

  it('shows a device in its own pixels', async () => {
    const player = await lab.open({ page: 'p', device: 'Pixel 7', viewport: VIEWPORT });
    const { width, height } = player.first;
    const { screenshot } = await player.act({ action: 'zoom', from: [0, 0], to: [width / 2, height / 2] });
    expect(screenshot).toMatchObject({ width, height });
    const pixel = await pixelsOf(screenshot.png);
    expect(pixel(width - 10, height - 10)).toEqual(RED);
    await player.close();
  });
});
