import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium, zipOf, type PackedFile } from '@ui-rl/testkit';
import { chromium } from 'playwright';
import sharp from 'sharp';
import type { Demonstration } from './demonstration';
import { AnswerReader } from './readers/answer-reader';
import { ImageFiles } from './readers/image-files';
import { readPlaywright } from './readers/playwright';
import type { ReaderContext } from './readers/reader';

const PAGE = `<title>Notes</title><body style="margin:0"><button style="position:absolute;left:100px;top:100px;width:200px;height:40px"
  onclick="this.textContent='done'">Add</button><input style="position:absolute;left:100px;top:200px;width:200px;height:20px">
  <select style="position:absolute;left:400px;top:200px"><option>a<option>b</select>`;
const CONTEXT: ReaderContext = {
  answers: new AnswerReader({ parse: () => ({ ok: true, actions: [] }) }),
  images: new ImageFiles(undefined),
};

let dir: string;
const path = (name: string): string => join(dir, name);
beforeAll(async () => (dir = await mkdtemp(join(tmpdir(), 'traces-'))));
afterAll(() => rm(dir, { recursive: true }));

/** With the actions of each step in pixels of the step's screenshot, read while the archive is open. */
async function read(
  file: string,
  context: Partial<ReaderContext> = {},
): Promise<(Demonstration & { actions: unknown[] })[]> {
  const found: (Demonstration & { actions: unknown[] })[] = [];
  for await (const demonstration of readPlaywright(file, { ...CONTEXT, ...context })) {
    const actions: unknown[] = [];
    for (const step of demonstration.steps) {
      const { width, height } = await sharp(await step.image()).metadata();
      const reading = step.read({ width, height });
      actions.push(...(reading.ok ? reading.actions : [reading.reason]));
    }
    found.push({ ...demonstration, actions });
  }
  return found;
}

it('reads the actions and screenshots of a trace that Playwright records', async () => {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ viewport: { width: 640, height: 400 } });
    await context.tracing.start({ screenshots: true, title: 'notes.spec.ts:3 › Notes › adds a note' });
    const page = await context.newPage();
    await page.setContent(PAGE);
    await page.getByRole('button').click();
    await page.getByText('done').waitFor();
    await page.fill('input', 'milk');
    await page.locator('input').pressSequentially('!');
    await page.press('input', 'Control+a');
    await page.selectOption('select', 'b');
    await page.dblclick('button');
    await page.mouse.click(20, 30, { button: 'right' });
    await page.mouse.wheel(0, 300);
    await page.keyboard.press('Escape');
    await page.click('button', { modifiers: ['Shift'] });
    await page.keyboard.down('Shift');
    await page.mouse.move(30, 40);
    await page.mouse.down();
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await context.tracing.stop({ path: path('trace.zip') });
  } finally {
    await browser.close();
  }
  const [demonstration] = await read(path('trace.zip'));
  expect(demonstration).toMatchObject({ goal: 'adds a note', success: null });
  expect(demonstration.actions).toEqual([
    { action: 'click', x: 200, y: 120 },
    { action: 'click', x: expect.closeTo(202, -1), y: expect.closeTo(212, -1) },
    { action: 'type', text: 'milk' },
    { action: 'type', text: '!' },
    { action: 'key', keys: ['ctrl', 'a'] },
    { action: 'double_click', x: 200, y: 120 },
    { action: 'right_click', x: 20, y: 30 },
    { action: 'scroll', direction: 'down', amount: 3 },
    { action: 'key', keys: ['escape'] },
    { action: 'click', x: 200, y: 120, modifiers: ['shift'] },
    { action: 'key_down', key: 'shift' },
    { action: 'move', x: 30, y: 40 },
    { action: 'mouse_down' },
    { action: 'mouse_up' },
    { action: 'key_up', key: 'shift' },
    { action: 'finish', success: true },
  ]);
  expect([...(demonstration.leftOut ?? [])]).toEqual([['selectOption', 1]]);
}, 120_000);

const event = (value: object): string => `${JSON.stringify(value)}\n`;
const begin = event({ type: 'context-options', version: 7, title: 'a › clicks' });
const frame = event({
  ...{ type: 'screencast-frame', pageId: 'p', sha1: 'f.jpeg' },
  ...{ width: 400, height: 200, timestamp: 1 },
});
const click =
  event({ type: 'before', callId: 'c', class: 'Frame', method: 'click', params: { button: 'left' } }) +
  event({ type: 'input', callId: 'c', point: { x: 300, y: 100 } }) +
  event({ type: 'after', callId: 'c' });

const jpegOf = () =>
  sharp({ create: { width: 200, height: 100, channels: 3, background: '#fff' } })
    .jpeg()
    .toBuffer();

async function archive(...files: PackedFile[]): Promise<string> {
  await writeFile(path('made.zip'), zipOf(files));
  return path('made.zip');
}

it('reads an older trace, whose screenshots are smaller than the page', async () => {
  const file = await archive(
    { name: 'trace.trace', content: begin + click + frame + click },
    { name: 'test.trace', content: 'not read' },
    { name: 'resources/f.jpeg', content: await jpegOf() },
  );
  const [demonstration] = await read(file, { goal: 'Press it' });
  expect(demonstration.goal).toBe('Press it');
  expect(demonstration.actions).toEqual([
    { action: 'click', x: 150, y: 50 },
    { action: 'finish', success: true },
  ]);
  expect([...(demonstration.leftOut ?? [])]).toEqual([['actions without a screenshot before them', 1]]);
});

it('takes no success from a test that failed', async () => {
  const failing =
    event({ type: 'before', callId: 'e', class: 'Frame', method: 'expect', params: {} }) +
    event({ type: 'after', callId: 'e', error: { message: 'not there' } });
  const [demonstration] = await read(
    await archive(
      { name: 'trace.trace', content: begin + frame + click + failing },
      { name: 'resources/f.jpeg', content: await jpegOf() },
    ),
  );
  expect(demonstration).toMatchObject({ success: false, actions: [{ action: 'click', x: 150, y: 50 }] });
});

it.each<[string, PackedFile[], RegExp]>([
  ['without a trace', [{ name: 'a.txt', content: '' }], /made\.zip: expected a trace of Playwright/],
  [
    'of a newer version',
    [{ name: 't.trace', content: begin.replace('7', '99') }],
    /version: expected a version from 6 to 10, found 99/,
  ],
  ['cut off', [{ name: 't.trace', content: begin + click.slice(0, -10) }], /t\.trace, line 4: expected JSON/],
  [
    'without a goal',
    [{ name: 't.trace', content: event({ type: 'context-options', version: 7 }) }],
    /--goal names it/,
  ],
  [
    'whose names leave it',
    [{ name: '../t.trace', content: begin }],
    /made\.zip: has an invalid directory: .*invalid relative path/,
  ],
  [
    'with whole paths',
    [{ name: '/t.trace', content: begin }],
    /made\.zip: has an invalid directory: .*absolute path/,
  ],
  [
    'that unpacks to gigabytes',
    [{ name: 't.trace', content: begin, size: 4_000_000_000 }],
    /t\.trace: has 4000000000 bytes, expected at most/,
  ],
  [
    'that unpacks to more than its directory says',
    [{ name: 't.trace', content: Buffer.alloc(50_000_000), size: 1000 }],
    /t\.trace: cannot be unpacked: too many bytes/,
  ],
  [
    'that unpacks to less than its directory says',
    [{ name: 't.trace', content: begin, size: 1000 }],
    /t\.trace: cannot be unpacked: not enough bytes/,
  ],
  [
    'with points of another type',
    [{ name: 't.trace', content: begin + click.replace('300', '"x"') }],
    /line 3: point\.x: expected a number, found "x"/,
  ],
])('refuses an archive %s', async (_, files, message) => {
  await expect(archive(...files).then((file) => read(file))).rejects.toThrow(message);
});

it('refuses a screenshot that the archive lacks', async () => {
  const file = await archive({ name: 'trace.trace', content: begin + frame + click });
  await expect(read(file)).rejects.toThrow(
    /made\.zip: resources\/f\.jpeg: there is no such file in the archive/,
  );
});
