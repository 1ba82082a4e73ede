import type { Check } from '@ui-rl/contracts';
import type { DifferingOption, ListedRun } from '@ui-rl/records';
import { axeFindings, eventually, makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, overflowOf, VIEWPORTS } from '../test/open-page';
import { publish } from '../test/shown-run';

/** Columns of runs, and where in a run its tasks fail: success by task and version, failed checks. */

const CHECKS = [
  { path: 'wifi', operator: 'equals', value: true },
  { path: 'volume', operator: 'at_least', value: 40 },
] as Check[];
const TASKS = ['Enable Wi-Fi', 'Set the volume to 40'];
const VERSIONS = 6;

let opened: OpenPage;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ page } = opened);
  for (const [runId, rate, tasks] of [
    ['narrow', 0.001, 'demo_training'],
    ['wide', 0.002, 'demo_training'],
    ['wide-again', 0.002, 'demo_training'],
  ] as const) {
    const config = { tasks, training: { learning_rate: rate, max_steps: 6 } };
    await opened.bus.event({ type: 'run_created', runId, config }, 'created');
  }
  for (let version = 0; version < VERSIONS; version += 1) await playStep(version);
  await eventually('the runs', async () => {
    const runs = await api<ListedRun[]>('runs');
    return runs.find(({ id }) => id === 'wide')?.steps === VERSIONS && runs.length === 3;
  });
}, 240_000);
afterAll(() => opened.close());

async function api<T>(path: string): Promise<T> {
  return (await (await fetch(`${opened.monitor.url}/api/${path}`)).json()) as T;
}

/** Four episodes of each task; ever more of the first one succeed, none of the second. */
async function playStep(version: number): Promise<void> {
  const rolloutIds: string[] = [];
  for (const [place, description] of TASKS.entries()) {
    for (let index = 0; index < 4; index += 1) {
      const rolloutId = `wide-${version}-${place}-${index}`;
      const success = place === 0 && index < version;
      const task = makeTask({ id: `task_${place}`, description, checks: CHECKS });
      const request = makeRollout({ rolloutId, groupId: `g${version}-${place}`, runId: 'wide', task });
      const turns = [makeTurn({ policyVersion: version })];
      const finalState = { wifi: success, volume: success ? 40 : 10 * index };
      await publish(opened.bus, makeTrajectory({ request, success, turns, finalState }));
      rolloutIds.push(rolloutId);
    }
  }
  const metrics = { 'env/all/success': Math.min(version, 4) / 8 };
  const step = { type: 'train_step', runId: 'wide', step: version + 1, rolloutIds, metrics } as const;
  await opened.bus.event(step, String(version));
}

const open = async (path: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/${path}`);
};

/** Looks at the page in both colour schemes. */
async function expectSound(name: string): Promise<void> {
  expect(await overflowOf(page)).toBe(0);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await opened.shot(`${name}-${page.viewportSize()!.width}-${colorScheme}`);
    expect({ colorScheme, found: await axeFindings(page) }).toEqual({ colorScheme, found: [] });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

test.each(VIEWPORTS)(
  'runs show success as a line and chosen options that differ, at $width px',
  async (viewport) => {
    await page.setViewportSize(viewport);
    await open('');
    await page.getByRole('img', { name: 'Success in training: 0 % at first, 50 % now' }).waitFor();
    expect(await page.locator('.sparkline svg').count()).toBe(1);
    await page.getByRole('button', { name: 'Columns' }).click();
    const offered = page.locator('.columns-chooser label');
    await eventually('what differs', async () => (await offered.count()) === 1);
    await page.getByLabel('training.learning_rate').check();
    const values = page.locator('td[data-label="training.learning_rate"]');
    await eventually('the values', async () => (await values.allInnerTexts()).length === 3);
    expect(
      (await values.allInnerTexts()).map((text) => text.replace(/^training.learning_rate\s*/, '')).toSorted(),
    ).toEqual(['0.001', '0.002', '0.002']);
    await expectSound('runs-columns');
    expect(page.url()).toMatch(/\?columns=training.learning_rate$/);
    await page.reload();
    await eventually('the values', async () => (await values.count()) === 3);
  },
);

test('only runs that are listed count: without a difference, no option is offered', async () => {
  expect(await api<DifferingOption[]>('run-differences')).toEqual([
    { path: 'training.learning_rate', values: { narrow: 0.001, wide: 0.002, 'wide-again': 0.002 } },
  ]);
  expect(await api<DifferingOption[]>('run-differences?search=wide')).toEqual([]);
  await open('?search=wide');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByText('These runs have the same configuration.').waitFor();
  await page.getByLabel('Search runs').fill('narrow');
  await page.getByText('Two runs or more can differ.').waitFor();
  expect(await page.locator('.columns-chooser label').count()).toBe(0);
});

test.each(VIEWPORTS)(
  'compared runs show the options that differ between them, at $width px',
  async (viewport) => {
    await page.setViewportSize(viewport);
    const trained = { type: 'train_step' as const, runId: 'narrow', step: 1, rolloutIds: [], metrics: {} };
    await opened.bus.event(trained, 'trained');
    await open('');
    const link = page.getByRole('link', { name: 'Compare runs' });
    await eventually('the runs that have trained', async () =>
      /compare\/(narrow,wide|wide,narrow)$/.test((await link.getAttribute('href')) ?? ''),
    );
    await open('compare/narrow,wide');
    const row = page.locator('.differences tbody tr').first();
    await row.waitFor();
    expect((await row.innerText()).split(/\s+/)).toEqual(['training.learning_rate', '0.001', '0.002']);
    await expectSound('compare-differences');
    await page.getByLabel('wide-again').check();
    await eventually('three runs', async () => (await row.locator('td').count()) === 3);
    await open('compare/wide,wide-again');
    await page.getByText('These runs have the same configuration, or none is recorded.').waitFor();
  },
);

test('differences are those of named runs; other names are refused', async () => {
  expect(await api<DifferingOption[]>('run-differences?run=narrow&run=wide&run=none')).toEqual([
    { path: 'training.learning_rate', values: { narrow: 0.001, wide: 0.002 } },
  ]);
  expect(await api<DifferingOption[]>('run-differences?run=narrow')).toEqual([]);
  expect(await api('run-differences?run=a%00b')).toMatchObject({ statusCode: 400 });
});

test.each(VIEWPORTS)(
  'a table shows success by task and version and leads to episodes, at $width px',
  async (viewport) => {
    await page.setViewportSize(viewport);
    await open('runs/wide/tasks');
    const rows = page.locator('.heat tbody tr');
    await rows.nth(1).waitFor();
    const cells = async (row: number) => rows.nth(row).locator('td').allInnerTexts();
    expect(await rows.nth(0).locator('th').innerText()).toContain('Set the volume to 40');
    expect(await cells(0)).toEqual(['0', '0', '0', '0', '0', '0', '0']);
    expect(await cells(1)).toEqual(['58', '0', '25', '50', '75', '100', '100']);
    await expectSound('tasks');
    const cell = rows.nth(1).getByRole('link', { name: '25', exact: true });
    expect(await cell.getAttribute('title')).toBe('1 of 4 episodes succeeded, after 1 step');
    await cell.click();
    const episodes = page.locator('.episodes tbody tr');
    await eventually('its episodes', async () => (await episodes.count()) === 4);
    expect(await page.locator('.episodes td[data-label="Policy"]').allInnerTexts()).toHaveLength(4);
    await page.getByRole('button', { name: 'Show all tasks, not only task_0' }).click();
    await eventually('both tasks', async () => (await episodes.count()) === 8);
  },
);

test('episodes are found by a check that failed, from the list and from an episode', async () => {
  await page.setViewportSize(VIEWPORTS[2]);
  await open('runs/wide/episodes');
  await page.getByRole('button', { name: 'More filters' }).click();
  const choice = page.getByLabel('Failed check');
  await eventually('the checks', async () => (await choice.locator('option').count()) === 3);
  // 24 of the second task and those of the first that failed: 4 + 3 + 2 + 1.
  expect(await choice.locator('option').allInnerTexts()).toEqual([
    ...['Every check', 'volume at least 40 (34)', 'wifi equals true (34)'],
  ]);
  await choice.selectOption('wifi equals true (34)');
  const episodes = page.locator('.episodes tbody tr');
  await eventually('the failures', async () => (await episodes.count()) === 34);
  expect(page.url()).toMatch(/\?failedCheck=wifi\+equals\+true$/);
  await expectSound('failed-check');
  await open('episodes/wide-1-0-2');
  await page.locator('.why').waitFor();
  expect(await opened.text('.why li')).toEqual([
    'wifi equals true: found false',
    'volume at least 40: found 20',
    'The agent reported success.',
  ]);
  await page.getByRole('link', { name: 'episodes that fail it' }).first().click();
  await eventually('the same failures', async () => (await episodes.count()) === 34);
  expect(await page.getByLabel('Failed check').inputValue()).toBe('wifi equals true');
});
