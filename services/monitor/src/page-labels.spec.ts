import type { RunSummary } from '@ui-rl/records';
import { axeFindings, eventually } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, overflowOf, VIEWPORTS } from '../test/open-page';

/** Labels of runs: names, notes, tags, the archive. */

const RUNS = ['wide-1', 'wide-2', 'narrow-1'];

let opened: OpenPage;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ page } = opened);
  for (const runId of RUNS) {
    await opened.bus.event({ type: 'run_created', runId, config: { name: runId } }, 'created');
    await opened.bus.event({ type: 'phase', runId, phase: 'finished' }, 'finished');
  }
  await eventually('the runs', async () => {
    const runs = await fetch(`${opened.monitor.url}/api/runs`);
    return ((await runs.json()) as RunSummary[]).length === RUNS.length;
  });
}, 240_000);
afterAll(() => opened.close());

const open = async (path: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/${path}`);
};
const listed = () => page.locator('.rows tbody td:first-child > a');

test.each(VIEWPORTS)(
  'a person names, tags and annotates a run on a screen of $width px',
  async (viewport) => {
    await page.setViewportSize(viewport);
    const name = `<b>Wide</b> on ${viewport.width}`;
    await open('runs/wide-1');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByLabel('Tags').fill('paper, seed 2, paper');
    await page.getByLabel('Notes').fill('rank 64\n<script>alert(1)</script>');
    await opened.shot(`run-editor-${viewport.width}`);
    expect(await overflowOf(page)).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
    expect(await page.locator('.tag').allInnerTexts()).toEqual(['paper', 'seed 2']);
    expect(await page.locator('.run-notes').innerText()).toBe('rank 64\n<script>alert(1)</script>');
    expect(await page.locator('.page-head small').innerText()).toBe('wide-1');
    expect(await page.title()).toBe(`${name} · ui-rl`);
    expect(
      await page.getByRole('button', { name: 'Edit' }).evaluate((each) => each === document.activeElement),
    ).toBe(true);
    await opened.shot(`run-labels-${viewport.width}`);
    await page.getByRole('link', { name: 'seed 2' }).click();
    await eventually('the tagged run', async () => (await listed().allInnerTexts()).join() === name);
    expect(page.url()).toMatch(/\?search=seed%202$/);
    await opened.shot(`runs-labels-${viewport.width}`);
    expect(await overflowOf(page)).toBe(0);
  },
);

test('an archived run is left out of lists until a person asks for archived ones, and can be restored', async () => {
  await open('runs/narrow-1');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Archive this run' }).click();
  await page.locator('.page-head .badge', { hasText: 'archived' }).waitFor();
  await open('');
  await eventually('the other runs', async () => (await listed().count()) === 2);
  await page.getByLabel('Search runs').fill('narrow');
  await page.getByText('Archived runs are left out.').waitFor();
  await page.getByLabel('Show archived').check();
  await eventually('the archived run', async () => (await listed().allInnerTexts()).join() === 'narrow-1');
  expect(page.url()).toMatch(/\?search=narrow&archived=yes$/);
  await page.reload();
  expect(await page.getByLabel('Show archived').isChecked()).toBe(true);
  await listed().first().click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Restore from the archive' }).click();
  await eventually('no badge', async () => (await page.getByText('archived', { exact: true }).count()) === 0);
  await open('');
  await eventually('all runs', async () => (await listed().count()) === 3);
});

test('an edit that the monitor refuses, or does not receive, says so and keeps what was typed', async () => {
  await open('runs/wide-2');
  await page.getByRole('button', { name: 'Edit' }).click();
  const tooLong = 'x'.repeat(60);
  await page.getByLabel('Tags').fill(tooLong);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('each tag must have 1 to 50 characters').waitFor();
  expect(await page.getByLabel('Tags').inputValue()).toBe(tooLong);
  await page.route('**/api/runs/wide-2', (route) => route.abort());
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The monitor does not answer: nothing was changed.').waitFor();
  await page.unroute('**/api/runs/wide-2');
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await page.locator('.tag').count()).toBe(0);
});

test('another open page shows an edit by itself', async () => {
  await open('');
  await eventually('all runs', async () => (await listed().count()) === 3);
  await page.getByText('live', { exact: true }).waitFor();
  await fetch(`${opened.monitor.url}/api/runs/wide-2`, {
    ...{ method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: '{"name":"Renamed"}' },
  });
  await page.getByRole('link', { name: 'Renamed', exact: true }).waitFor();
  expect(await listed().count()).toBe(3);
});
