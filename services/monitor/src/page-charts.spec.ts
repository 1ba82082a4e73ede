import type { BusService } from '@ui-rl/bus';
import { eventually } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, overflowOf, phoneScreens, VIEWPORTS } from '../test/open-page';
import { publishRun, RUN } from '../test/shown-run';

/** The charts of a run: their axes, smoothing, cursor and metrics, all of them in the address. */

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  const screens = await phoneScreens(opened.browser);
  const hashes = await Promise.all(screens.map((png) => bus.blobs.of(RUN).put(png)));
  await publishRun(bus, opened.plugin, hashes);
  await eventually('everything recorded', async () => {
    const run = (await (await fetch(`${opened.monitor.url}/api/runs/${RUN}`)).json()) as {
      episodes?: number;
      steps?: number;
      evaluations?: unknown[];
    };
    return run.episodes === 320 && run.steps === 20 && run.evaluations?.length === 6;
  });
}, 240_000);
afterAll(() => opened.close());

const open = async (query = ''): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/runs/${RUN}${query}`);
  await page.locator('.chart canvas').first().waitFor();
};
const names = () =>
  page.getByRole('figure').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label') ?? ''));

it.each(VIEWPORTS)('charts are within the window of $width pixels', async (viewport) => {
  await page.setViewportSize(viewport);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await open('?x=episodes&smooth=8&metrics=optim%2Floss,optim%2Fkl_sample_train_v1&log=1');
    await page.getByLabel('Search metrics').fill('reward');
    await page.locator('.found-metrics li').first().waitFor();
    expect(await overflowOf(page)).toBe(0);
    await opened.shot(`charts-${viewport.width}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
});

it('charts are over steps, time, tokens or episodes', async () => {
  await page.setViewportSize(VIEWPORTS[2]);
  await open();
  expect((await names())[1]).toBe('Reward: mean reward by policy version');
  for (const [choice, axis] of [
    ['time', 'time'],
    ['trained tokens', 'trained tokens'],
    ['trained episodes', 'trained episodes'],
  ]) {
    await page.getByLabel('Over').selectOption(choice);
    await eventually(axis, async () => (await names())[1] === `Reward: mean reward by ${axis}`);
    expect((await names())[2]).toBe(`KL of sampler and trainer: nats per token by ${axis}`);
  }
  expect(page.url()).toMatch(/x=episodes$/);
  await page.locator('.chart').first().getByText('Values as a table').click();
  const rows = page.getByRole('group', { name: 'Values of Success' }).locator('tbody tr');
  await rows.first().waitFor();
  // 16 episodes a step: the last version that sampled is 19.
  expect((await rows.first().innerText()).split('\t')[0]).toBe('320');
  expect((await rows.last().innerText()).split('\t')[0]).toBe('0');
});

it('lines are smoothed as the slider says, beside the values of each step', async () => {
  await open();
  const legend = () => page.locator('.chart').nth(1).locator('.legend li').allInnerTexts();
  expect((await legend())[1]).toMatch(/^mean of 5/);
  await page.getByLabel('Smoothing').focus();
  await page.keyboard.press('ArrowRight');
  await eventually('smoother', async () => (await legend())[1].startsWith('mean of 6'));
  expect(page.url()).toMatch(/smooth=6$/);
  await page.keyboard.press('Home');
  await eventually('not smoothed', async () => (await legend()).length === 1);
  expect((await legend())[0]).toMatch(/^per step\s*\d\.\d\d$/);
});

it('a logarithmic axis is named and survives a reload', async () => {
  await open();
  await page.getByLabel('Logarithmic').check();
  await eventually('logarithmic', async () => (await names())[2].includes('(logarithmic)'));
  await page.reload();
  await page.locator('.chart canvas').first().waitFor();
  expect((await names())[2]).toBe('KL of sampler and trainer: nats per token (logarithmic) by training step');
});

it('the cursor is at the same step in all charts over steps', async () => {
  await open();
  const box = (await page.locator('.chart').nth(1).locator('.u-over').boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await eventually('three tips', async () => (await page.locator('.tip').count()) >= 3);
  const steps = (await page.locator('.tip strong').allInnerTexts()).map((text) => text.replace(/^\D+/, ''));
  expect(new Set(steps).size).toBe(1);
});

it('metrics are found by name or meaning, pinned and unpinned', async () => {
  await open();
  expect((await names()).at(-1)).toBe('optim/loss: loss by training step');
  await page.getByLabel('Search metrics').fill('log p(sampler)');
  const found = page.locator('.found-metrics li');
  await found.first().waitFor();
  expect(await found.allInnerTexts()).toEqual([
    expect.stringMatching(/^Pin optim\/kl_sample_train_v1 mean of log p\(sampler\)/),
  ]);
  await page.getByRole('button', { name: 'Pin optim/kl_sample_train_v1' }).click();
  await eventually('its panel', async () =>
    (await names()).includes('optim/kl_sample_train_v1: nats by training step'),
  );
  expect(page.url()).toContain('metrics=optim');
  await page.reload();
  await page.getByRole('button', { name: 'Unpin optim/loss' }).click();
  await eventually('no loss', async () => !(await names()).some((name) => name.startsWith('optim/loss')));
  await page.getByRole('button', { name: 'Unpin optim/kl_sample_train_v1' }).click();
  await eventually('none', async () => (await names()).length === 5);
});

it('a scrolled page is shown again after a reload, where it was', async () => {
  await open();
  await page.mouse.wheel(0, 300);
  const top = () => page.evaluate<number>('window.scrollY');
  await eventually('scrolled', async () => (await top()) === 300);
  await page.reload();
  await eventually('the same place', async () => (await top()) === 300);
  const chart = page.locator('.chart canvas').first();
  await chart.waitFor();
  expect(await chart.isVisible()).toBe(true);
});
