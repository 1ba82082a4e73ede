import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BusService } from '@ui-rl/bus';
import { axeFindings, eventually } from '@ui-rl/testkit';
import type { Page } from 'playwright';
import { type OpenPage, openPage, phoneScreens, VIEWPORTS } from '../test/open-page';
import { COMPARED, publishCompared, publishRun, RUN } from '../test/shown-run';
import { TokenGate } from './http/access';

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
  await eventually(
    'everything recorded',
    async () => {
      const api = `${opened.monitor.url}/api`;
      const [run, compared, blamed] = await Promise.all(
        [`runs/${RUN}`, `runs/${COMPARED}`, `episodes/${BLAMED}`].map((path) => fetch(`${api}/${path}`)),
      );
      const { episodes } = (await run.json()) as { episodes?: number };
      const { evaluations } = (await compared.json()) as { evaluations?: unknown[] };
      const { advantage } = (await blamed.json()) as { advantage?: number | null };
      return episodes === 320 && evaluations?.length === 3 && advantage != null;
    },
    120_000,
  );
}, 240_000);
afterAll(() => opened.close());

const open = async (path: string, ready: string): Promise<void> => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#/${path}`);
  await page.locator(ready).first().waitFor();
};

const SCHEMES = ['light', 'dark'] as const;

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

it.each(PAGES.flatMap((each) => [VIEWPORTS[0], VIEWPORTS[2]].map((viewport) => ({ each, viewport }))))(
  'axe finds nothing on the page of $each.0 at $viewport.width pixels, with all that opens, in both colour schemes',
  async ({ each: [, path, ready], viewport }) => {
    await page.setViewportSize(viewport);
    await open(path, ready);
    await openAll();
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      expect({ colorScheme, found: await axeFindings(page) }).toEqual({ colorScheme, found: [] });
    }
    await page.emulateMedia({ colorScheme: 'light' });
  },
  120_000,
);

/** Opens all details, menus and forms of the page. */
async function openAll(): Promise<void> {
  await page.locator('details').evaluateAll((all) => all.forEach((each) => each.setAttribute('open', '')));
  const closed = page.locator('button[aria-expanded="false"]');
  for (let count = await closed.count(); count > 0; count -= 1) await closed.first().click();
}

it.each(SCHEMES)('axe finds nothing on the form that asks for the token, in %s', async (colorScheme) => {
  const gate = new TokenGate('a-token-of-16-characters', false);
  const server = createServer((request, response) => void gate.passes(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await page.emulateMedia({ colorScheme });
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(await axeFindings(page)).toEqual([]);
  await page.keyboard.type('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  server.closeAllConnections();
  server.close();
});

it('a keyboard leads from the list of runs to a turn of an episode', async () => {
  await page.setViewportSize(VIEWPORTS[2]);
  await open('', '.rows tbody tr');
  await follow(RUN);
  await page.locator('.chart canvas').first().waitFor();
  // The link went with its page: the next stop is in the content.
  expect(await page.locator('main').evaluate((main) => main === document.activeElement)).toBe(true);
  await follow('Episodes');
  await page.locator('.episodes tbody tr').first().waitFor();
  await page.keyboard.press('Tab');
  const episode = page.locator('.episodes tbody a').first();
  const address = (await episode.getAttribute('href'))!;
  await stopAt((href) => href === address);
  await page.keyboard.press('Enter');
  await page.locator('.tokens span').first().waitFor();
  await page.keyboard.press('ArrowRight');
  expect(page.url()).toContain(`${address}?turn=2`);
  await page.keyboard.press('ArrowRight');
  expect(page.url()).toContain(`${address}?turn=3`);
});

/** Presses Tab until a link with this text has the focus, then Enter. */
async function follow(text: string): Promise<void> {
  await stopAt((_, words) => words.includes(text));
  await page.keyboard.press('Enter');
}

/** Presses Tab until the right link has the focus. */
async function stopAt(isRight: (href: string, text: string) => boolean): Promise<void> {
  for (let stop = 0; stop < 80; stop += 1) {
    await page.keyboard.press('Tab');
    const [href, text] = await page.evaluate<[string, string]>(
      `[document.activeElement.getAttribute('href') ?? '', document.activeElement.innerText ?? '']`,
    );
    if (href !== '' && isRight(href, text)) return;
  }
  throw new Error('no such link within 80 stops of the Tab key');
}

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
