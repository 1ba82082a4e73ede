import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { subjects } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTask, makeTrajectory } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import type { BusService } from '@ui-rl/bus';
import { type OpenPage, openPage, phoneScreens } from '../test/open-page';
import { COMPARED, publish, publishCompared, publishRun, RUN } from '../test/shown-run';
import type { Monitor } from './server';

let opened: OpenPage;
let bus: BusService;
let monitor: Monitor;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, monitor, page } = opened);
}, 120_000);
afterAll(() => opened.close());

const shot = (name: string) => opened.shot(name);
const text = (selector: string) => opened.text(selector);

test('the build of the page complains of nothing', () => expect(opened.saidByBuild).toBe(''));

test('without a run the page says how to start one, and a run appears by itself', async () => {
  await page.goto(monitor.url);
  await page.getByText('No run yet.').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  const hashes = await Promise.all(
    (await phoneScreens(opened.browser)).map((png) => bus.blobs.of(RUN).put(png)),
  );
  expect(new Set(hashes).size).toBeGreaterThan(1);
  await publishRun(bus, opened.plugin, hashes);
  await page.getByRole('link', { name: RUN }).waitFor();
  await eventually('all episodes in the list', async () => (await text('tbody td'))[4] === '320');
  await page.getByText('93 %').waitFor();
  await shot('runs');
});

test('a run shows its curves, its evaluations and every task before and after', async () => {
  await page.getByRole('link', { name: RUN }).click();
  await page.getByText('Success', { exact: true }).waitFor();
  await eventually('six charts', async () => (await page.locator('.chart canvas').count()) === 6);
  expect(await text('.stat .value')).toEqual(['20', '320', '0.0 %', '–']);
  // An empty chart has a single colour.
  const colours = await page.evaluate<number[]>(`
    [...document.querySelectorAll('.chart canvas')].map((canvas) => {
      const { width, height } = canvas;
      const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
      const seen = new Set();
      for (let at = 0; at < pixels.length; at += 4) {
        if (pixels[at + 3] > 200) seen.add(pixels.slice(at, at + 3).join());
      }
      return seen.size;
    })
  `);
  expect(Math.min(...colours)).toBeGreaterThan(2);
  expect(await text('.evaluations .card:nth-child(1) .rate .label')).toEqual([
    'Before training',
    'After warm start',
    'After training',
  ]);
  const rows = await text('.evaluations .card:nth-child(1) tbody tr');
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatch(/Enable Wi-Fi[^]*25 %[^]*88 %[^]*▲ \+63$/);
  await shot('run');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot('run-dark');
  await page.emulateMedia({ colorScheme: 'light' });
});

test('episodes are filtered, and more come by scrolling back', async () => {
  await page.getByRole('link', { name: 'Episodes' }).click();
  await eventually('the first page', async () => (await page.locator('tbody tr').count()) === 50);
  await page.getByRole('button', { name: 'Show more' }).click();
  await eventually('the second page', async () => (await page.locator('tbody tr').count()) === 100);
  await page.getByLabel('Result').selectOption('no');
  await eventually('failures only', async () => new Set(await text('tbody tr .badge')).size === 1);
  expect((await text('tbody tr .badge'))[0]).toBe('failure');
  await page.getByLabel('Task').fill('no such goal');
  await page.getByText('No episode passes this filter.').waitFor();
  await page.getByLabel('Result').selectOption('');
  await page.getByLabel('Task').fill('bluetooth');
  await eventually(
    'one goal',
    async () =>
      new Set(await text('tbody tr a')).has('Turn on Bluetooth') &&
      new Set(await text('tbody tr a')).size === 1,
  );
  await shot('episodes');
});

test('an episode is played frame by frame, with the actions drawn where they happened', async () => {
  await page.locator('tbody tr a').first().click();
  await eventually('all frames', async () => (await page.locator('.filmstrip li').count()) === 4);
  await page.locator('.overlay').waitFor();
  const crosshair = await page.locator('.overlay circle').last().boundingBox();
  const image = await page.locator('.frame img').boundingBox();
  const scale = image!.width / 160;
  expect(Math.abs(crosshair!.x + crosshair!.width / 2 - image!.x - 40 * scale)).toBeLessThan(3);
  expect(Math.abs(crosshair!.y + crosshair!.height / 2 - image!.y - 48 * scale)).toBeLessThan(3);
  expect(await text('.details .act')).toEqual(['click 40, 48']);
  expect(await page.locator('.tokens span').count()).toBe(14);
  expect(await text('.stat .note')).toContain('near 0.25, tidy −0.05, task-success 1.00');
  await page.getByRole('button', { name: 'Next frame' }).click();
  expect(await text('.details .act')).toEqual(['swipe 80, 180 → 80, 60\noutside viewport']);
  expect((await text('.details .paid'))[0].replaceAll(/\s+/g, ' ')).toBe('reward −0.10 tidy −0.10');
  await page.getByRole('button', { name: 'Turn 3' }).click();
  expect(await text('.details .act')).toEqual(['1. click 140, 20\n2. type “milk”\n3. key enter']);
  expect(await page.locator('.overlay .number').allTextContents()).toEqual(['1']);
  expect(await page.locator('.words').innerText()).toBe('2. type “milk”\n3. key enter');
  const told = page.locator('details').filter({ hasText: 'Screen as text' });
  await told.locator('summary').click();
  expect(await told.locator('pre').innerText()).toBe('page "Phone"\n button "Turn 2 <b>" (40,48)');
  await page.getByRole('button', { name: 'At the end' }).click();
  expect(await text('.details .act')).toEqual(['At the end']);
  expect(await page.locator('.overlay').count()).toBe(0);
  expect(await text('.card h2')).toEqual([
    'Group',
    'Checks',
    'Changes of the state',
    'Success and faults',
    'Environment and time',
  ]);
  await shot('episode');
});

test('an invalid episode shows why, and one from outside of the task list is shown like any other', async () => {
  const request = makeRollout({
    rolloutId: 'by-hand-r0',
    runId: RUN,
    task: makeTask({ id: undefined, description: 'Water the plants', checks: undefined }),
  });
  await publish(
    bus,
    makeTrajectory({
      request,
      status: 'invalid',
      invalidReason: 'crashed: the page crashed',
      success: null,
      reward: 0,
      turns: [],
      finishedAt: '2026-11-20T11:30:00.000Z',
    }),
  );
  await page.goto(`${monitor.url}/#/runs/${RUN}/episodes`);
  await page.getByRole('link', { name: 'Water the plants' }).click();
  await page.getByText('Invalid: crashed: the page crashed').waitFor();
  expect(await page.getByText('No turn was played.').count()).toBe(1);
});

test('dead letters are listed with their reason and text', async () => {
  bus.connection.publish(subjects.event(RUN, 'phase'), 'not json');
  await page.getByRole('link', { name: 'Dead letters' }).click();
  await page.getByText(/not JSON/).click();
  await page.getByText('not json', { exact: true }).waitFor();
  expect(await page.getByText(/not JSON/).count()).toBe(1);
  await shot('dead-letters');
});

/** Options of a group as displayed: name, help, value. */
async function optionsOf(group: string): Promise<string[]> {
  const heading = page.getByRole('heading', { name: group, exact: true });
  const rows = await page.locator('.card').filter({ has: heading }).locator('.option').allInnerTexts();
  return rows.map((row) => row.replaceAll(/\s+/g, ' '));
}

test('the configuration shows every option with its help, also those of components that the monitor does not have', async () => {
  await page.goto(`${monitor.url}/#/runs/${RUN}`);
  await page.getByRole('link', { name: 'Configuration' }).click();
  await page.getByRole('heading', { name: 'training', exact: true }).waitFor();
  expect(await optionsOf('run')).toEqual(
    expect.arrayContaining([
      'rewards[0] 1 if the verifier says that the task is done, else 0. task-success',
      'rewards[1] Asks a judge on another machine. remote-judge no default',
      'judge_key how it knows us [hidden] no default',
      'strictness what counts as done 0.9 default 0.5',
    ]),
  );
  expect(await optionsOf('model.lora')).toContain(
    'rank rank of the adapter 32 no effect: needs model.use_lora true',
  );
  expect(await page.content()).not.toContain('hush');
  const rate = page.locator('.option[title^="training.learning_rate"]');
  expect(await rate.getAttribute('title')).toBe(
    'training.learning_rate\nlearning rate after warm-up\na number above 0',
  );
  const back = (option: typeof rate) => option.evaluate((row) => getComputedStyle(row).backgroundColor);
  const usual = page.locator('.option[title^="training.max_grad_norm"]');
  expect(await back(rate)).not.toBe(await back(usual));
  await shot('configuration');
});

test('the configuration is cut down to what differs from its default, and to what is searched for', async () => {
  const all = await page.locator('.option').count();
  await page.getByLabel('Only what differs from its default').check();
  expect(await page.locator('.option:not(.differs)').count()).toBe(0);
  expect(await page.locator('.option').count()).toBeLessThan(all / 3);
  expect(await optionsOf('training')).toEqual([
    'learning_rate learning rate after warm-up 0.001 default 0.00001',
    'max_steps maximum number of steps, without those of the warm start; 0 = no limit 20 default 0',
  ]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await shot('configuration-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByLabel('Search').fill('CLIP');
  expect((await optionsOf('algorithm')).map((row) => row.split(' ')[0])).toEqual(['loss', 'clip_high']);
  await page.getByLabel('Only what differs from its default').uncheck();
  expect((await optionsOf('algorithm')).map((row) => row.split(' ')[0])).toContain('clip_low');
  await page.getByLabel('Search').fill('no such option');
  await page.getByText('No option passes this filter.').waitFor();
});

test('details show the log, and text from outside stays text', async () => {
  await bus.event(
    { type: 'warning', runId: RUN, service: 'learner', code: 'kl', message: '<img src=x onerror=alert(1)>' },
    'xss',
  );
  await page.goto(`${monitor.url}/#/runs/${RUN}/details`);
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  expect(await page.locator('img[src="x"]').count()).toBe(0);
  await shot('details');
});

test('a step leads to its groups, and from those to their episodes', async () => {
  await page.goto(`${monitor.url}/#/runs/${RUN}/steps`);
  await eventually('every step', async () => (await page.locator('table.steps tbody tr').count()) === 20);
  await shot('steps');
  await page.getByRole('link', { name: '20', exact: true }).click();
  await eventually('two groups', async () => (await page.locator('.group').count()) === 2);
  expect(await page.locator('.group').first().locator('.tile').count()).toBe(8);
  expect(await page.getByRole('link', { name: '21 →' }).count()).toBe(0);
  await shot('step');
  // All of its episodes succeed.
  await page.locator('.without-signal summary').click();
  const tile = page.locator('.group').nth(1).locator('.tile').first();
  expect(await tile.getAttribute('title')).toBe(`${RUN}-g19-r8`);
  await tile.click();
  await eventually('screenshots', async () => (await page.locator('.filmstrip li').count()) === 4);
  await page.getByRole('link', { name: 'trained in step 20' }).click();
  await page.getByRole('heading', { name: 'Step 20' }).waitFor();
  await page.getByRole('link', { name: '← 19' }).click();
  await page.getByRole('heading', { name: 'Step 19' }).waitFor();
});

test('runs are laid over one another, and can be taken out and in', async () => {
  const other = 'other-20261121-090000';
  await bus.runs.create({ runId: other, createdAt: '2026-11-21T09:00:00.000Z', config: {} });
  for (let step = 1; step <= 12; step += 1) {
    const metrics = { 'env/all/success': 0.6 + step / 60, 'env/all/reward/total': 0.9, 'optim/loss': 0.2 };
    await bus.event({ type: 'train_step', runId: other, step, rolloutIds: [], metrics }, String(step));
  }
  await page.goto(`${monitor.url}/#/`);
  await page.getByRole('link', { name: 'Compare runs' }).click();
  const lines = () => page.locator('.chart').first().locator('.legend li').allInnerTexts();
  await eventually('both runs', async () => (await lines()).length === 2);
  expect((await lines()).join(' ')).toMatch(new RegExp(`${other}[^]*${RUN}|${RUN}[^]*${other}`));
  await eventually('three charts', async () => (await page.locator('.chart canvas').count()) === 3);
  await page.getByLabel('Metric', { exact: true }).selectOption('optim/loss');
  await shot('compare');
  await page.getByLabel(other).uncheck();
  await eventually('one run', async () => (await lines()).length === 1);
  expect(page.url()).toMatch(new RegExp(`#/compare/${RUN}$`));
  await page.getByLabel(other).check();
  await eventually('both again', async () => (await lines()).length === 2);
});

test('evaluations stand side by side: task by task, what differs beyond chance is marked, and leads to its episodes', async () => {
  await page.goto(`${monitor.url}/#/runs/${RUN}`);
  await page.getByRole('link', { name: 'All 3 side by side' }).first().click();
  await eventually('both sets of goals', async () => (await page.locator('table.compared').count()) === 2);
  expect((await text('.compared thead th')).map((cell) => cell.split('\n')[0])).toEqual([
    ...['Task', 'Before training', 'After warm start', 'After training'],
    ...['Task', 'Before training', 'After warm start', 'After training'],
  ]);
  await publishCompared(bus);
  await page.goto(`${monitor.url}/#/runs/${COMPARED}/evaluations`);
  const rows = async () =>
    (await text('.compared tbody tr')).map((row) => row.replaceAll(/\s+/g, ' ').replaceAll(/\d+ %–/g, ''));
  await eventually('three checkpoints', async () => (await page.locator('.compared thead th').count()) === 4);
  expect(await rows()).toEqual([
    'All 2 tasks 31 % 56 % of 16 75 % ▲ +44 90 % of 16 31 % 0 56 % of 16',
    'Enable Wi-Fi notes/goal_0 13 % 47 % of 8 88 % ▲ +75 98 % of 8 25 % +13 59 % of 8',
    'Open the notes notes/goal_1 50 % 78 % of 8 63 % +13 86 % of 8 38 % −13 69 % of 8',
  ]);
  expect(await text('.compared .up, .compared .down')).toEqual(['▲ +44', '▲ +75']);
  await shot('evaluations');
  await page.getByLabel('Only tasks that differ').check();
  expect(await page.locator('.compared tbody tr').count()).toBe(2);
  await page.getByLabel('compare with it').nth(1).check();
  await eventually('the other way round', async () =>
    (await text('.compared .down')).join(' ').startsWith('▼ −44'),
  );
  await shot('evaluations-other');
  await page.locator('.compared tbody tr').nth(1).getByRole('link', { name: '88 %' }).click();
  await eventually('its episodes', async () => (await page.locator('.episodes tbody tr').count()) === 8);
  expect(await text('p.note code')).toEqual([`${COMPARED}-c1`, 'notes/goal_0']);
  await page.getByLabel('Result').selectOption('no');
  await eventually('its failure', async () => (await page.locator('.episodes tbody tr').count()) === 1);
  await page.getByRole('link', { name: 'Show all episodes' }).click();
  await eventually('all episodes', async () => (await page.locator('.episodes tbody tr').count()) === 48);
});

test('the page works below a path of a proxy', async () => {
  const proxy = createServer((request, response) => {
    const below = /^\/lab\/ui(\/.*)/.exec(request.url ?? '')?.[1];
    if (below === undefined) return void response.writeHead(404).end();
    const onward = { headers: { ...request.headers, host: new URL(monitor.url).host } };
    get(new URL(monitor.url + below), onward, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const screenshot = page.waitForResponse(/\/lab\/ui\/api\/runs\/[^/]+\/screenshots\//);
  await page.goto(`http://127.0.0.1:${port}/lab/ui/#/runs/${RUN}/steps/20`);
  await page.getByText('live', { exact: true }).waitFor();
  expect((await screenshot).status()).toBe(200);
  await page.goto('about:blank');
  proxy.closeAllConnections();
  proxy.close();
});

test('the page works without a complaint of the browser, also on a phone', async () => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const [tab, ready] of [
    ['', '.chart canvas'],
    ['/configuration', '.option'],
    ['/steps/20', '.tile'],
    ['/evaluations', '.compared'],
  ]) {
    await page.goto(`${monitor.url}/#/runs/${RUN}${tab}`);
    await page.locator(ready).first().waitFor();
    // Charts of the wide page shrink in the frame after the viewport.
    const fits = 'document.documentElement.scrollWidth === innerWidth';
    await page.waitForFunction(fits, undefined, { timeout: 5_000 }).catch(() => undefined);
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect({ tab, overflow }).toEqual({ tab, overflow: 0 });
    await shot(`narrow${tab.replaceAll('/', '-')}`);
  }
  expect(opened.problems).toEqual([]);
});
