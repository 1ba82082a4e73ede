import type { BusService } from '@ui-rl/bus';
import { eventually, makeRollout, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, phoneScreens, VIEWPORTS } from '../test/open-page';
import { publish, publishCompared, publishRun, RUN } from '../test/shown-run';

/** Lists of episodes and of many runs: filters, order, Back, tabs. */

const OLD_RUNS = 130;

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  const screens = await phoneScreens(opened.browser);
  const hashes = await Promise.all(screens.map((png) => bus.blobs.of(RUN).put(png)));
  await publishRun(bus, opened.plugin, hashes);
  await Promise.all([publishUnpaid(hashes[0]), publishCompared(bus), publishOldRuns()]);
  await eventually('everything recorded', async () => {
    const [runs, { episodes }] = await Promise.all([
      api<{ id: string }[]>('runs?search=old-'),
      api<{ episodes: number }>(`runs/${RUN}`),
    ]);
    return runs.length === OLD_RUNS && episodes === 321;
  });
}, 240_000);
afterAll(() => opened.close());

async function api<T>(path: string): Promise<T> {
  return (await (await fetch(`${opened.monitor.url}/api/${path}`)).json()) as T;
}

/** An episode without any reward. */
async function publishUnpaid(screenshot: string): Promise<void> {
  const request = makeRollout({ rolloutId: 'unpaid-g0-r0', groupId: 'unpaid-g0', runId: RUN });
  const turns = [makeTurn({ screenshot })];
  await publish(
    bus,
    makeTrajectory({ request, success: false, reward: 0, turns, finalScreenshot: screenshot }),
  );
}

async function publishOldRuns(): Promise<void> {
  for (let index = 0; index < OLD_RUNS; index += 1) {
    const runId = `old-${String(index).padStart(3, '0')}`;
    await bus.event({ type: 'run_created', runId, config: { name: runId } }, 'created');
    await bus.event({ type: 'phase', runId, phase: 'finished' }, 'finished');
  }
}

const open = (path: string) => page.goto(`${opened.monitor.url}/#/${path}`);

describe('lists', () => {
  beforeEach(async () => {
    await page.setViewportSize(VIEWPORTS[1]);
    await page.goto('about:blank');
  });

  it('keep filter, older pages and place on Back', async () => {
    await open(`runs/${RUN}/episodes`);
    await page.getByLabel('Result').selectOption('yes');
    await page.getByRole('button', { name: 'Show more' }).click();
    const rows = page.locator('.episodes tbody tr');
    await eventually('older episodes', async () => (await rows.count()) > 50);
    expect(page.url()).toMatch(/\?result=yes$/);
    await page.locator('.episodes tbody tr').nth(60).scrollIntoViewIfNeeded();
    const top = await page.evaluate<number>('scrollY');
    expect(top).toBeGreaterThan(500);
    await rows.nth(60).getByRole('link').click();
    await page.locator('.player').waitFor();
    expect(await page.evaluate<number>('scrollY')).toBe(0);
    await page.goBack();
    await eventually(
      'the same place',
      async () => Math.abs((await page.evaluate<number>('scrollY')) - top) < 3,
    );
    expect(await page.getByLabel('Result').inputValue()).toBe('yes');
  });

  it('filter and sort episodes by more than their result, all of it in the address', async () => {
    await open(`runs/${RUN}/episodes`);
    const rows = page.locator('.episodes tbody tr');
    await page.getByLabel('Order').selectOption('Highest reward first');
    const rewards = () => page.locator('.episodes td[data-label="Reward"]').allInnerTexts();
    await eventually('the highest first', async () => (await rewards())[0] === '1.20');
    await page.getByLabel('Order').selectOption('Lowest reward first');
    await eventually('the lowest first', async () => (await rewards())[0] === '0.00');
    await page.getByRole('button', { name: 'More filters' }).click();
    await page.getByLabel('Reward from').fill('0.1');
    await eventually('no lower one', async () => (await rewards())[0] === '0.20');
    await page.getByLabel('Trained in step').fill('3');
    await eventually('16 episodes of the step', async () => (await rows.count()) === 16);
    expect(new URLSearchParams(page.url().split('?')[1]).toString()).toBe(
      'sort=reward+asc&minReward=0.1&step=3',
    );
    await page.getByLabel('Answers').selectOption('With parse failures');
    await page.getByText('No episode passes this filter.').waitFor();
    await page.reload();
    expect(await page.getByLabel('Trained in step').inputValue()).toBe('3');
    await page.getByLabel('Answers').selectOption('Without parse failures');
    await eventually('16 episodes', async () => (await rows.count()) === 16);
    await page.getByLabel('Turns from').fill('4');
    await page.getByText('No episode passes this filter.').waitFor();
    await page.getByLabel('Turns from').fill('');
    await page.getByLabel('Result').selectOption('Truncated');
    await page.getByText('No episode passes this filter.').waitFor();
  });

  it('open a tab on Ctrl+click on a row, and stay', async () => {
    await open(`runs/${RUN}/steps`);
    const cell = page.locator('.steps tbody tr').first().locator('td').nth(3);
    const [tab] = await Promise.all([
      opened.context.waitForEvent('page'),
      cell.click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await tab.waitForURL(/steps\/\d+$/);
    await tab.close();
    const [linked] = await Promise.all([
      opened.context.waitForEvent('page'),
      page
        .locator('.steps tbody a')
        .first()
        .click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await linked.close();
    expect(page.url()).toMatch(/\/steps$/);
  });

  it('let text be selected, and follow a plain click', async () => {
    await open(`runs/${RUN}/episodes`);
    const id = page.locator('.episodes tbody small').first();
    await id.dblclick({ position: { x: 8, y: 8 } });
    expect(await page.evaluate<string>('getSelection().toString()')).not.toBe('');
    expect(page.url()).toMatch(/\/episodes$/);
    await page.evaluate('getSelection().removeAllRanges()');
    const reward = (await page.locator('.episodes tbody td.num').first().boundingBox())!;
    await page.mouse.move(reward.x + 2, reward.y + reward.height / 2);
    await page.mouse.down();
    await page.mouse.move(reward.x + reward.width - 2, reward.y + reward.height / 2, { steps: 5 });
    await page.mouse.up();
    expect(await page.evaluate<string>('getSelection().toString()')).not.toBe('');
    expect(page.url()).toMatch(/\/episodes$/);
    await page.evaluate('getSelection().removeAllRanges()');
    await page.locator('.episodes tbody td.num').first().click();
    await page.locator('.player').waitFor();
  });

  it('name what the policy version is: no column of episodes is called a step', async () => {
    await open(`runs/${RUN}/episodes`);
    await page.locator('.episodes tbody tr').first().waitFor();
    expect(await opened.text('.episodes th')).toEqual([
      ...['Goal', 'Result', 'Purpose', 'Reward', 'Turns', 'Policy', 'Ended'],
    ]);
  });
});

describe('many runs', () => {
  beforeEach(() => page.setViewportSize(VIEWPORTS[2]));

  it('are all within reach, and found by their name', async () => {
    await open('');
    const rows = page.locator('.rows tbody tr');
    await eventually('the first page', async () => (await rows.count()) === 50);
    await page.getByRole('button', { name: 'Show more runs (50 shown)' }).click();
    await page.getByRole('button', { name: 'Show more runs (100 shown)' }).click();
    await eventually('all runs', async () => (await rows.count()) === OLD_RUNS + 2);
    expect(await page.getByRole('button', { name: /Show more runs/ }).count()).toBe(0);
    await page.getByLabel('Search runs').fill('OLD-00');
    await eventually('matches', async () => (await rows.count()) === 10);
    await page.getByLabel('Search runs').fill('none_');
    await page
      .getByText('No run has “none_” in its id, name, notes or tags. Archived runs are left out.')
      .waitFor();
  });

  it('are sorted on request, those beyond the first page, too', async () => {
    await open('?search=old-');
    const first = () => page.locator('.rows tbody a').first().innerText();
    await page.getByLabel('Order').selectOption('By id');
    await eventually('the first name', async () => (await first()) === 'old-000');
    await page.getByRole('button', { name: 'Show more runs (50 shown)' }).click();
    await page.getByRole('button', { name: 'Show more runs (100 shown)' }).click();
    const last = page.locator('.rows tbody a').last();
    await eventually('all runs', async () => (await page.locator('.rows tbody tr').count()) === OLD_RUNS);
    expect(await last.innerText()).toBe('old-129');
    await open('');
    await page.getByLabel('Order').selectOption('Most episodes first');
    await eventually('the largest', async () => (await first()) === RUN);
  });

  it('are offered for comparison by search, not as a wall of boxes', async () => {
    await open(`compare/${RUN}`);
    await page.getByLabel(RUN).waitFor();
    await eventually('few boxes', async () => (await page.locator('.chooser input').count()) === 11);
    await page.getByLabel('Search runs').fill('old-007');
    await page.getByLabel('old-007').check();
    expect(page.url()).toMatch(/,old-007$/);
  });
});
