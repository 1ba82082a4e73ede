import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser } from 'playwright';
import { browserPath, Lab, until } from '../test/support';
import { RECORDINGS } from './recording';

const PAGE = `<body style="margin: 0"><input type="password" id="secret" style="display: block; height: 20px; width: 100px">
  <div id="box" style="position: absolute; top: 60px; width: 20px; height: 20px; background: #00f"></div>
  <script>
    let left = 0;
    setInterval(() => { left = (left + 5) % 120; box.style.left = left + 'px'; }, 50);
    window.uirl = { state: () => ({}), reset() {} };
  </script>`;

describe('recordings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'recordings-'));
  const labs: Lab[] = [];
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    for (const lab of labs) await lab.stop();
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  async function start(options: object): Promise<Lab> {
    const lab = new Lab();
    lab.page('p', PAGE);
    lab.variables[RECORDINGS] = folder;
    labs.push(lab);
    return lab.start(options);
  }

  const recordings = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.html'))
      .toSorted();

  it('show what happened in one file, with what was done, and not what was typed', async () => {
    const lab = await start({ record_every: 2 });
    const player = await lab.open({ page: 'p' }, { owner: 'run-g1-r0', description: 'Log <in>' });
    await player.act({ action: 'click', x: 40, y: 10 });
    await player.act({ action: 'type', text: 'hunter2' });
    await player.act({ action: 'key', keys: ['x'] });
    await player.act({ action: 'wait', seconds: 0.8 });
    await player.act({ action: 'click', x: 900, y: 10 });
    await player.close();
    await (await lab.open({ page: 'p' }, { owner: 'run-g1-r1' })).close();
    expect(recordings()).toEqual([expect.stringMatching(/^\d{8}T\d{9}Z-run-g1-r0\.html$/)]);
    const path = join(folder, recordings()[0]);
    expect(statSync(path).mode & 0o077).toBe(0);
    const html = readFileSync(path, 'utf8');
    expect(html).toContain('<h1>Log &lt;in&gt;</h1>');
    expect(html).toContain('type 7 characters');
    expect(html).not.toContain('hunter2');
    expect(html).toContain('key □');
    expect(html).toContain('outside_viewport');
    // Every screen of the episode, and some frames from the time it waited.
    expect(html.match(/image\/png/g)).toHaveLength(6);
    expect(html.match(/image\/jpeg/g)!.length).toBeGreaterThan(2);
    const page = await browser.newPage();
    await page.goto(pathToFileURL(path).href);
    const last = Number(await page.getAttribute('#slider', 'max'));
    expect(last).toBeGreaterThan(10);
    await page.fill('#slider', '1');
    const size = await page.evaluate(`[big.naturalWidth, big.naturalHeight]`);
    expect(size).toEqual([160, 224]);
    const at = html.split('<section').findIndex((part) => part.includes('click {')) - 1;
    await page.fill('#slider', String(at));
    expect(await page.locator('section.on').innerText()).toMatch(/^click \{"x":40,"y":10\}/);
    expect(await page.locator('#mark').isVisible()).toBe(true);
    await page.close();
  });

  it('are bounded: each of them, and all in the folder, the oldest of which go', async () => {
    const other = join(folder, 'mine.html');
    writeFileSync(other, 'x'.repeat(3 * 2 ** 20));
    const old = join(folder, '20200101T000000000Z-old.html');
    writeFileSync(old, 'x'.repeat(2 * 2 ** 20));
    utimesSync(old, 0, 0);
    const lab = await start({ record_every: 1, record_mb: 1, record_total_mb: 2 });
    lab.page(
      'noise',
      `<canvas width="600" height="400"></canvas><script>
      const context = document.querySelector('canvas').getContext('2d');
      const data = context.createImageData(600, 400);
      for (let i = 0; i < data.data.length; i += 65536) crypto.getRandomValues(data.data.subarray(i, i + 65536));
      for (let i = 3; i < data.data.length; i += 4) data.data[i] = 255;
      context.putImageData(data, 0, 0);
      window.uirl = { state: () => ({}) };</script>`,
    );
    const player = await lab.open(
      { page: 'noise', viewport: { width: 600, height: 400 } },
      { owner: 'noise' },
    );
    for (let step = 0; step < 4; step++) await player.act({ action: 'wait', seconds: 0 });
    await player.close();
    const [name] = recordings().filter((each) => each.includes('noise'));
    const html = readFileSync(join(folder, name), 'utf8');
    expect(html.length).toBeLessThan(2 ** 20 + 1_000);
    expect(html).toContain('what follows is not recorded');
    expect(recordings()).not.toContain('20200101T000000000Z-old.html');
    expect(recordings()).toContain('mine.html');
  });

  it('need a folder that the machine names, and none that fails is the failure of an episode', async () => {
    const lost = new Lab();
    labs.push(lost);
    await expect(lost.start({ record_every: 1 })).rejects.toThrow(
      /environment\.kind\.record_every is 1.*BROWSER_RECORDINGS/,
    );
    const lab = new Lab();
    lab.page('p', PAGE);
    lab.variables[RECORDINGS] = join(folder, 'mine.html', 'below-a-file');
    labs.push(lab);
    await lab.start({ record_every: 1 });
    const player = await lab.open({ page: 'p' });
    expect((await player.act({ action: 'click', x: 3, y: 3 })).outcome).toBe('ok');
    await player.close();
    await until(() => lab.log.some((line) => /warn an episode is not recorded/.test(line)));
  });
});
