import { readFile } from 'node:fs/promises';
import type { BusService } from '@ui-rl/bus';
import { eventually, makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import sharp from 'sharp';
import { type OpenPage, openPage, overflowOf, VIEWPORTS } from '../test/open-page';
import { COMPARED, publish, publishCompared, publishRun, RUN } from '../test/shown-run';

/** How people use the page: long answers, several tabs, Back, a phone. */

const LONG = 'desktop-g0-r0';
const TOKENS = 700;

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  const desktops = await Promise.all([desktop('#2b6cb0'), desktop('#2f855a')]);
  const hashes = await Promise.all(desktops.map((png) => bus.blobs.of(RUN).put(png)));
  await publishRun(bus, opened.plugin, hashes);
  await Promise.all([publishLong(hashes), publishCompared(bus)]);
  await eventually('everything recorded', async () => {
    const [{ episodes }, long] = await Promise.all([
      api<{ episodes: number }>(`runs/${RUN}`),
      fetch(`${opened.monitor.url}/api/episodes/${LONG}`),
    ]);
    return episodes >= 322 && long.ok;
  });
}, 240_000);
afterAll(() => opened.close());

async function api<T>(path: string): Promise<T> {
  return (await (await fetch(`${opened.monitor.url}/api/${path}`)).json()) as T;
}

function desktop(background: string): Promise<Uint8Array> {
  return sharp({ create: { width: 1440, height: 900, channels: 3, background } })
    .png()
    .toBuffer();
}

/** A group of two episodes: long answers on a desktop, one check that failed and one that held. */
async function publishLong(hashes: string[]): Promise<void> {
  const task = makeTask({
    id: 'mail',
    description: 'Send the report',
    checks: [
      { path: 'mail.sent', operator: 'equals', value: true },
      { kind: 'text', value: 'Report' },
    ],
  });
  const text = Array.from({ length: TOKENS }, (_, index) => `thought${index}`).join(' ');
  const turn = (index: number) =>
    makeTurn({
      ...{ index, text, screenshot: hashes[index % 2], actions: [{ action: 'click', x: 720, y: 450 }] },
      tokenIds: Array.from({ length: TOKENS }, (_, token) => token),
      logprobs: Array.from({ length: TOKENS }, () => -0.1),
      promptTokenIds: [7, 9, 9, 9],
      promptImages: [hashes[index % 2]],
      imageTokens: 3,
    });
  for (const indexInGroup of [0, 1]) {
    const request = makeRollout({
      ...{ rolloutId: `desktop-g0-r${indexInGroup}`, groupId: 'desktop-g0', runId: RUN },
      ...{ task, groupSize: 2, indexInGroup },
    });
    await publish(
      bus,
      makeTrajectory({
        ...{ request, success: false, reward: 0, turns: [0, 1, 2].map(turn), finalScreenshot: hashes[0] },
        initialState: { mail: { sent: false, drafts: 0 }, theme: 'light' },
        finalState: {
          mail: { sent: false, drafts: 1 },
          theme: 'light',
          $checks: { 1: { holds: true, found: 'the text is there' } },
        },
      }),
    );
  }
}

const open = (path: string) => page.goto(`${opened.monitor.url}/#/${path}`);
const overflow = () => overflowOf(page);

describe('pages at three sizes, in both colour schemes', () => {
  const PAGES: [string, string, string][] = [
    ['runs', '', '.rows tbody tr'],
    ['run', `runs/${RUN}`, '.chart canvas'],
    ['episodes', `runs/${RUN}/episodes`, '.episodes tbody tr'],
    ['steps', `runs/${RUN}/steps`, '.steps tbody tr'],
    ['episode', `episodes/${LONG}`, '.overlay'],
    ['evaluations', `runs/${COMPARED}`, '.compared'],
  ];
  it.each(PAGES)('%s is never wider than the window', async (name, path, ready) => {
    for (const viewport of VIEWPORTS) {
      await page.setViewportSize(viewport);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await open(path);
        await page.locator(ready).first().waitFor();
        expect({ viewport, overflow: await overflow() }).toEqual({ viewport, overflow: 0 });
        await opened.shot(`${name}-${viewport.width}-${colorScheme}`);
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it.each([
    ['', 'Unseen goals', 'demo'],
    [`runs/${RUN}/episodes`, 'Reward', 'Send'],
    [`runs/${RUN}/steps`, 'Success', '20'],
  ])('on a phone every result of %s is within the window', async (path, label) => {
    await page.setViewportSize(VIEWPORTS[0]);
    await open(path);
    const cell = page.locator(`td[data-label="${label}"]`).first();
    await cell.waitFor();
    const box = await cell.boundingBox();
    expect(box!.x).toBeGreaterThanOrEqual(0);
    expect(box!.x + box!.width).toBeLessThanOrEqual(390);
  });
});

describe('an episode', () => {
  beforeEach(async () => {
    await page.setViewportSize(VIEWPORTS[2]);
    await page.goto('about:blank');
    await open(`episodes/${LONG}`);
    await page.locator('.overlay').waitFor();
  });

  it('says which check failed, what was found, and what has changed', async () => {
    expect((await opened.text('.checks li')).map((line) => line.replaceAll(/\s+/g, ' '))).toEqual([
      '✗ mail.sent equals true found false episodes that fail it',
      '✓ text {"value":"Report"} found the text is there',
    ]);
    expect(await opened.text('.changes tbody tr')).toEqual(['mail.drafts\t0\t1']);
  });

  it('shows a desktop in full, in its own size and larger', async () => {
    const width = async () => Math.round((await page.locator('.frame .screen img').boundingBox())!.width);
    expect(await width()).toBeGreaterThan(800);
    expect(await width()).toBeLessThan(1_100);
    await page.getByLabel('Size').selectOption('1');
    await eventually(
      'its own size',
      async () => (await page.locator('.frame .screen').boundingBox())!.width === 1440,
    );
    await page.getByLabel('Size').selectOption('2');
    await eventually(
      'larger',
      async () => (await page.locator('.frame .screen').boundingBox())!.width === 2880,
    );
    expect(await overflow()).toBe(0);
    expect(page.url()).toContain('scale=2');
  });

  it('is played by keys, and the address names the turn', async () => {
    const turn = () => page.locator('.player .place').innerText();
    expect(await turn()).toBe('Turn 1 of 3');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    expect(await turn()).toBe('Turn 3 of 3');
    expect(page.url()).toMatch(/\?turn=3$/);
    await page.keyboard.press('ArrowLeft');
    expect(await turn()).toBe('Turn 2 of 3');
    await page.getByLabel('Speed').selectOption('8');
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('Space');
    await eventually('the end', async () => (await turn()) === 'At the end of 3');
    await page.getByRole('button', { name: 'Play' }).waitFor();
    await page.goto('about:blank');
    await open(`episodes/${LONG}?turn=2`);
    await eventually('the named turn', async () => (await turn()) === 'Turn 2 of 3');
  });

  it('has a strip of frames that lie side by side, also on a phone', async () => {
    await page.setViewportSize(VIEWPORTS[0]);
    const images = page.locator('.filmstrip img');
    await eventually('loaded', async () => (await images.first().boundingBox())!.width > 90);
    const boxes = await images.evaluateAll((all) =>
      all.map(
        (each) => (each as HTMLElement).getBoundingClientRect().toJSON() as { left: number; right: number },
      ),
    );
    for (const [index, { left }] of boxes.slice(1).entries())
      expect(left).toBeGreaterThanOrEqual(boxes[index].right);
  });

  it('leads to its neighbours in the group', async () => {
    await page.getByText('1 of 2 in the group').waitFor();
    await page.getByRole('link', { name: 'Next →' }).click();
    await page.getByText('2 of 2 in the group').waitFor();
    expect(page.url()).toContain('desktop-g0-r1');
    await page.getByRole('link', { name: '← Previous' }).click();
    await page.getByText('1 of 2 in the group').waitFor();
  });

  it('shows the tokens and the images of the prompt', async () => {
    await page.getByText('Prompt (4 tokens)').click();
    await page.getByText('Token ids').click();
    await page.getByText('7 9×3', { exact: true }).waitFor();
    expect(await page.locator('.prompt-images img').count()).toBe(1);
  });

  it('is downloaded as JSON, as pictures, and as a page that needs nothing else', async () => {
    const download = async (name: string) => {
      const [offered] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name }).click(),
      ]);
      return { name: offered.suggestedFilename(), bytes: await readFile(await offered.path()) };
    };
    const json = await download('JSON');
    expect(json.name).toBe(`${LONG}.json`);
    expect(JSON.parse(json.bytes.toString())).toMatchObject({ id: LONG, turns: [{}, {}, {}] });
    const picture = await download('PNGs');
    expect(picture.name).toBe(`${LONG}-001.png`);
    expect(await sharp(picture.bytes).metadata()).toMatchObject({ width: 1440, height: 900 });
    const alone = await opened.context.newPage();
    await alone.route('**/*', (route) => route.abort());
    await alone.setContent((await download('HTML')).bytes.toString());
    expect(await alone.locator('h2').allInnerTexts()).toEqual(['Turn 1', 'Turn 2', 'Turn 3', 'At the end']);
    expect(
      await alone
        .locator('img')
        .evaluateAll((all) => all.map((each) => (each as HTMLImageElement).naturalWidth)),
    ).toEqual([1440, 1440, 1440, 1440]);
    expect(await alone.locator('svg.overlay').count()).toBe(3);
    await alone.close();
  });

  it('that is opened before it is recorded appears by itself', async () => {
    await open('episodes/late-r0');
    await page.getByText('An episode that is still being played').waitFor();
    const request = makeRollout({
      rolloutId: 'late-r0',
      runId: RUN,
      task: makeTask({ description: 'Late' }),
    });
    await publish(bus, makeTrajectory({ request, turns: [] }));
    await page.getByRole('heading', { name: 'Late' }).waitFor();
    expect(await page.getByText('An episode that is still being played').count()).toBe(0);
  });
});

describe('charts', () => {
  beforeEach(async () => {
    await page.setViewportSize(VIEWPORTS[2]);
    await page.goto('about:blank');
    await open(`runs/${RUN}`);
    await page.locator('.chart canvas').first().waitFor();
  });
  const over = () => page.locator('.chart').first().locator('.u-over');

  async function zoomIn(): Promise<void> {
    const box = (await over().boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Show all' }).first().waitFor();
  }

  it('do not move the page when the pointer is on them', async () => {
    const height = () => page.evaluate<number>('document.documentElement.scrollHeight');
    const before = await height();
    const box = (await over().boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.locator('.tip').first().waitFor();
    expect(await page.locator('.tip').first().innerText()).toMatch(/^policy version \d+\n/);
    expect(await height()).toBe(before);
  });

  it('stay zoomed when new data arrives, after Back, and in the address', async () => {
    await zoomIn();
    const address = page.url();
    expect(address).toMatch(/\?steps=[\d.]+%7E[\d.]+$/);
    const stepsBefore = (await opened.text('.stat .value'))[0];
    await bus.event(
      { type: 'train_step', runId: RUN, step: 21, rolloutIds: [], metrics: { 'optim/loss': 0.01 } },
      'more',
    );
    await eventually('the new step', async () => (await opened.text('.stat .value'))[0] !== stepsBefore);
    expect(page.url()).toBe(address);
    await page.getByRole('button', { name: 'Show all' }).first().waitFor();
    await page.getByRole('link', { name: 'Steps', exact: true }).click();
    await page.goBack();
    await page.getByRole('button', { name: 'Show all' }).first().waitFor();
    expect(page.url()).toBe(address);
    await page.getByRole('button', { name: 'Show all' }).first().click();
    await eventually(
      'no zoom',
      async () => (await page.getByRole('button', { name: 'Show all' }).count()) === 0,
    );
    expect(page.url()).not.toContain('steps=');
  });

  it('name their axes', async () => {
    expect(
      await page.getByRole('figure').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label'))),
    ).toEqual([
      'Success: share of episodes by policy version',
      'Reward: mean reward by policy version',
      'KL of sampler and trainer: nats per token by training step',
      'Invalid share: share of episodes by time',
      'Throughput: episodes per second by time',
      'optim/loss: loss by training step',
    ]);
  });
});

describe('the state of things', () => {
  beforeEach(() => page.setViewportSize(VIEWPORTS[2]));

  it('an evaluation that has no result yet does not speak of training', async () => {
    const runId = 'eval-now';
    await bus.event({ type: 'run_created', runId, config: { name: 'eval' } }, 'created');
    await bus.event({ type: 'phase', runId, phase: 'final_eval' }, 'final_eval');
    await open(`runs/${runId}`);
    await page.getByText('Not evaluated yet.').waitFor();
    expect(await page.locator('.chart').count()).toBe(0);
    expect(await page.getByText(/trained yet/).count()).toBe(0);
    await open(`runs/${COMPARED}`);
    await page.locator('.compared').waitFor();
    expect(await page.locator('.chart').count()).toBe(0);
  });

  it('a run whose learner is silent says so, and what it waits for', async () => {
    const runId = 'silent';
    const at = new Date(Date.now() - 600_000).toISOString();
    const config = { rollout: { group_size: 1 }, training: { groups_per_batch: 2 } };
    await bus.event({ type: 'run_created', runId, config, at }, 'created');
    await bus.event({ type: 'phase', runId, phase: 'training', at }, 'training');
    await bus.event({ type: 'service_ready', runId, service: 'learner', instance: 'a', at }, 'ready');
    for (const index of [0, 1]) {
      const request = makeRollout({ rolloutId: `silent-r${index}`, runId });
      const finishedAt = new Date(Date.now() - 300_000).toISOString();
      await publish(bus, makeTrajectory({ request, turns: [], finishedAt }));
    }
    await open(`runs/${runId}`);
    const said = page.getByRole('region', { name: 'Signs of life' });
    await eventually('its reason', async () =>
      /waits for the learner: 2 episodes/.test(await said.innerText()),
    );
    expect(await said.innerText()).toMatch(/^No sign of life for 5 min/);
    expect(await said.locator('li').allInnerTexts()).toEqual([
      expect.stringMatching(/^actor ended an episode /),
      expect.stringMatching(/^learner started /),
    ]);
    await bus.event({ type: 'phase', runId, phase: 'stopped' }, 'stopped');
    await said.waitFor({ state: 'detached' });
  });

  it('every tab is named after what it shows', async () => {
    for (const [path, title] of [
      ['', 'ui-rl monitor'],
      [`runs/${RUN}`, `${RUN} · ui-rl`],
      [`runs/${RUN}/episodes`, `Episodes · ${RUN} · ui-rl`],
      [`runs/${RUN}/steps/3`, `Step 3 · ${RUN} · ui-rl`],
      [`episodes/${LONG}`, '✗ Send the report · ui-rl'],
      ['dead-letters', 'Dead letters · ui-rl'],
      [`compare/${RUN}`, 'Compare runs · ui-rl'],
    ]) {
      await open(path);
      await eventually(title, async () => (await page.title()) === title);
      expect(await page.title()).toBe(title);
    }
  });

  it('a monitor that does not answer is named in plain words', async () => {
    await page.route('**/api/runs?**', (route) => route.abort());
    await page.goto('about:blank');
    await open('');
    await page.getByText('The monitor does not answer.').waitFor();
    expect(await page.getByText('Failed to fetch').count()).toBe(0);
    await page.unroute('**/api/runs?**');
  });
});
