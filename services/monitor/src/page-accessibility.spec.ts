import type { BusService } from '@ui-rl/bus';
import { eventually } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { axeFindings } from '../test/axe-findings';
import { type OpenPage, openPage, phoneScreens, VIEWPORTS } from '../test/open-page';
import { COMPARED, publishCompared, publishRun, RUN } from '../test/shown-run';

/** The page for people who use a keyboard, a screen reader or a colour scheme of their choice. */

const BLAMED = `${RUN}-g19-r3`;
const BESIDE = `${RUN}-g19-r0`;

let opened: OpenPage;
let bus: BusService;
let page: Page;
beforeAll(async () => {
  opened = await openPage();
  ({ bus, page } = opened);
  const screens = await phoneScreens(opened.browser);
  const hashes = await Promise.all(screens.map((png) => bus.blobs.of(RUN).put(png)));
  await publishRun(bus, opened.plugin, hashes);
  await publishCompared(bus);
  await bus.event({ type: 'warning', runId: RUN, service: 'learner', code: 'kl', message: 'high' }, 'kl');
  await eventually('everything recorded', async () => {
    const api = `${opened.monitor.url}/api`;
    const [run, compared, blamed] = await Promise.all(
      [`runs/${RUN}`, `runs/${COMPARED}`, `episodes/${BLAMED}`].map((path) => fetch(`${api}/${path}`)),
    );
    const { episodes } = (await run.json()) as { episodes?: number };
    const { evaluations } = (await compared.json()) as { evaluations?: unknown[] };
    const { advantage } = (await blamed.json()) as { advantage?: number | null };
    return episodes === 320 && evaluations?.length === 3 && advantage != null;
  });
}, 240_000);
afterAll(() => opened.close());

const open = async (path: string, ready: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/${path}`);
  await page.locator(ready).first().waitFor();
};

const PAGES: [name: string, path: string, ready: string][] = [
  ['runs', '', '.rows tbody tr'],
  ['overview', `runs/${RUN}`, '.chart canvas'],
  ['steps', `runs/${RUN}/steps`, '.steps tbody tr'],
  ['step', `runs/${RUN}/steps/20`, '.tile'],
  ['tasks', `runs/${RUN}/tasks`, '.heat tbody tr'],
  ['evaluations', `runs/${RUN}/evaluations`, '.compared'],
  ['checkpoints', `runs/${COMPARED}`, '.compared'],
  ['episodes', `runs/${RUN}/episodes`, '.episodes tbody tr'],
  ['configuration', `runs/${RUN}/configuration`, '.card'],
  ['health', `runs/${RUN}/health`, '.card'],
  ['details', `runs/${RUN}/details`, '.card'],
  ['episode', `episodes/${BLAMED}?colour=push`, '.tokens span'],
  ['two episodes', `episodes/${BLAMED}?beside=${BESIDE}&turn=2&scale=2`, '.pair'],
  ['compared runs', `compare/${RUN}`, '.chart canvas'],
  ['dead letters', 'dead-letters', 'h1'],
];

it.each(PAGES)(
  'axe finds nothing on the page of %s, on a phone and in dark on a desktop',
  async (_, path, ready) => {
    for (const [colorScheme, viewport] of [
      ['light', VIEWPORTS[0]],
      ['dark', VIEWPORTS[2]],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await open(path, ready);
      await page
        .locator('details')
        .evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
      expect({ colorScheme, found: await axeFindings(page) }).toEqual({ colorScheme, found: [] });
    }
    await page.emulateMedia({ colorScheme: 'light' });
  },
);

it('the first stop of the Tab key leads to the content, without changing the page', async () => {
  await open(`runs/${RUN}`, '.chart canvas');
  const address = page.url();
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').innerText()).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  expect(await page.locator('main').evaluate((main) => main === document.activeElement)).toBe(true);
  expect(page.url()).toBe(address);
});

it('every control of a run is reached by the Tab key', async () => {
  await open(`runs/${RUN}`, '.chart canvas');
  const names = new Set<string>();
  for (let stop = 0; stop < 60; stop += 1) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    if ((await focused.count()) === 0) break;
    names.add(
      await focused.evaluate(
        (each) =>
          each.getAttribute('aria-label') ??
          each.closest('label')?.innerText ??
          (each as HTMLElement).innerText,
      ),
    );
  }
  for (const name of ['Runs', 'Steps', 'Search metrics', 'Unpin optim/loss', 'Values as a table'])
    expect(names).toContain(name);
  expect([...names].some((name) => name.startsWith('Over'))).toBe(true);
});

it('the colour scheme is that of the system, until a person chooses another one', async () => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await open('', '.rows tbody tr');
  const back = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const dark = await back();
  const scheme = page.getByLabel('Theme');
  await scheme.selectOption('Light');
  expect(await back()).not.toBe(dark);
  await page.reload();
  await page.locator('.rows tbody tr').first().waitFor();
  expect(await back()).not.toBe(dark);
  await scheme.selectOption('As the system');
  expect(await back()).toBe(dark);
  await page.emulateMedia({ colorScheme: 'light' });
  await eventually('light', async () => (await back()) !== dark);
});
