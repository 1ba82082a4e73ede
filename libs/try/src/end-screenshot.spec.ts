import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { tryPage } from './try-page';

/** Each click shows the next colour; the first one follows the last. */
const COLOURS = ['white', 'green', 'blue'];
const PAGE = `<!doctype html><body style="margin: 0; height: 100vh"><script>
  let clicks = 0;
  const show = () => (document.body.style.background = ${JSON.stringify(COLOURS)}[clicks % ${COLOURS.length}]);
  onclick = () => { clicks++; show(); };
  show();
</script>`;
const PIXELS: Record<string, number[]> = { white: [255, 255, 255], green: [0, 128, 0], blue: [0, 0, 255] };

const CLICK = { action: 'click', x: 50, y: 50 };
const WAIT = { action: 'wait', seconds: 0 };
const FINISH = { action: 'finish', success: true };

let folder: string;
let server: Server;
let answers: object[];

/** An endpoint that answers with one action after the other. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-end-'));
  mkdirSync(join(folder, 'page'));
  writeFileSync(join(folder, 'page/index.html'), PAGE);
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      // The opening question checks that the endpoint accepts pictures.
      const isTrial = !body.includes('Task: ');
      const content = isTrial ? 'white' : JSON.stringify(answers.shift() ?? FINISH);
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        }),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  rmSync(folder, { recursive: true });
});

async function screensOf(actions: readonly object[]): Promise<number[][]> {
  answers = [...actions];
  const { port } = server.address() as AddressInfo;
  const { screenshots } = await tryPage({
    page: join(folder, 'page'),
    task: 'x',
    out: mkdtempSync(join(folder, 'seen-')),
    isShown: false,
    checkpoint: `http://127.0.0.1:${port}/v1#m`,
    viewport: { width: 640, height: 480 },
    flags: [`--rollout.max_turns=${actions.length}`],
  });
  return Promise.all(
    screenshots.map(async (file) => {
      const { data } = await sharp(file)
        .extract({ left: 5, top: 5, width: 1, height: 1 })
        .raw()
        .toBuffer({ resolveWithObject: true });
      return [...data.subarray(0, 3)];
    }),
  );
}

it.each([
  ['the first one', [CLICK, CLICK, CLICK, FINISH], 'white'],
  ['one in between', [CLICK, CLICK, CLICK, CLICK, FINISH], 'green'],
  ['the one before', [CLICK, WAIT, FINISH], 'green'],
  ['the first one, since nothing was done', [FINISH], 'white'],
  ['one that was not seen before', [CLICK, CLICK, FINISH], 'blue'],
])(
  'the last screenshot is the last screen, where that looks as %s',
  async (_, actions, last) => {
    const screens = await screensOf(actions);
    expect(screens).toHaveLength(actions.length + 1);
    expect(screens.at(-1)).toEqual(PIXELS[last]);
  },
  60_000,
);
