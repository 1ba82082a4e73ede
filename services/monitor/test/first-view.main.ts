import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { fillWithRuns, BUSY } from './many-runs';
import { type OpenPage, openPage } from './open-page';

/** Pages and the part of each that shows its data. */
const PAGES: [name: string, path: string, ready: string][] = [
  ['runs', '/', '.rows tbody tr'],
  ['a run', `/runs/${BUSY}`, '.chart canvas'],
  ['its steps', `/runs/${BUSY}/steps`, '.steps tbody tr'],
  ['an episode', '/episodes/1-1', '.token-view .sampled'],
  ['its episodes', `/runs/${BUSY}/episodes`, '.episodes tbody tr'],
];

/** Milliseconds since navigation began. */
interface View {
  shown: number;
  scripts: number;
  answers: number;
}

/**
 * Prints how long pages take until they show their data, with 500 runs and 20,000 episodes, in a new browser profile
 * and in one that visited the page before: `node libs/testkit/run-ts.cjs THIS [--visits 7]`.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { visits: { type: 'string' } } });
  const visits = Number(values.visits ?? 7);
  const opened = await openPage(fillWithRuns);
  try {
    console.log(
      'median of first visits, then of later ones, in ms: scripts loaded, answers received, data shown',
    );
    for (const [name, path, ready] of PAGES) {
      const [first, later]: View[][] = [[], []];
      for (let visit = 0; visit < visits; visit += 1) {
        const context = await opened.browser.newContext({ viewport: { width: 1440, height: 900 } });
        first.push(await viewOf(opened, context, path, ready));
        later.push(await viewOf(opened, context, path, ready));
        await context.close();
      }
      console.log(`${name.padEnd(14)}${textOf(first)}   ${textOf(later)}`);
    }
  } finally {
    await opened.close();
  }
}

async function viewOf(
  { monitor }: OpenPage,
  context: OpenPage['context'],
  path: string,
  ready: string,
): Promise<View> {
  const page = await context.newPage();
  await page.addInitScript(`window.shown = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(ready)}) === null) requestAnimationFrame(look);
      else setTimeout(() => resolve(performance.now())); // after this frame is painted
    };
    requestAnimationFrame(look);
  })`);
  await page.goto(`${monitor.url}/#${path}`, { waitUntil: 'commit' });
  await page.locator(ready).first().waitFor();
  const view = await page.evaluate<View>(`window.shown.then((shown) => {
    const ends = (part) => performance.getEntriesByType('resource').filter(({ name }) => name.includes(part))
      .reduce((last, { responseEnd }) => Math.max(last, responseEnd), 0);
    return { shown, scripts: ends('/assets/'), answers: ends('/api/') };
  })`);
  await page.close();
  return view;
}

function textOf(views: readonly View[]): string {
  const median = (of: keyof View) =>
    views.map((view) => view[of]).toSorted((a, b) => a - b)[Math.floor(views.length / 2)];
  return (['scripts', 'answers', 'shown'] as const)
    .map((of) => String(Math.round(median(of))).padStart(6))
    .join('');
}

void main();
