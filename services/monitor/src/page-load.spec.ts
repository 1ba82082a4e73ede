import { subjects } from '@ui-rl/contracts';
import { eventually, makeRollout, makeTrajectory } from '@ui-rl/testkit';
import type { CDPSession, Page } from 'playwright';
import { type OpenPage, openPage } from '../test/open-page';
import { BUSY, fillWithRuns } from '../test/many-runs';

/** The page with 500 runs, 20,000 episodes and a run that trains: what it loads, and what each live update costs. */

let opened: OpenPage;
let page: Page;
let network: CDPSession;
/** Received answers, headers included. */
const answers: { path: string; bytes: number }[] = [];
beforeAll(async () => {
  opened = await openPage(fillWithRuns);
  ({ page } = opened);
  network = await opened.context.newCDPSession(page);
  await network.send('Network.enable');
  const addresses = new Map<string, string>();
  network.on('Network.requestWillBeSent', ({ requestId, request }) => addresses.set(requestId, request.url));
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const path = addresses.get(requestId)!.slice(opened.monitor.url.length);
    answers.push({ path, bytes: encodedDataLength });
  });
}, 240_000);
afterAll(() => opened.close());

let step = 500;

/** A step of the busy run, and the episodes that it trained. */
async function trainStep(): Promise<void> {
  step += 1;
  const rolloutIds = Array.from({ length: 16 }, (_, index) => `live-${step}-${index}`);
  await Promise.all(
    rolloutIds.map((rolloutId) => {
      const trajectory = makeTrajectory({ request: makeRollout({ rolloutId, runId: BUSY }) });
      return opened.bus.publishJson(subjects.trajectory(BUSY, 'train'), trajectory, rolloutId);
    }),
  );
  const metrics = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`load/metric_${index}`, index]),
  );
  await opened.bus.event({ type: 'train_step', runId: BUSY, step, rolloutIds, metrics }, `live-${step}`);
}

const answersOf = (part: string) => answers.filter(({ path }) => path.startsWith(part));

test('the list of runs loads compressed, and the page with its scripts is below 400 kB', async () => {
  await page.goto(opened.monitor.url);
  await page.getByRole('button', { name: 'Show more runs (50 shown)' }).waitFor();
  const list = await eventually('its bytes', () => answersOf('/api/runs?').at(0));
  expect(list.bytes).toBeLessThan(20_000);
  expect(answers.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(400_000);
});

test.each([
  ['the list of runs', '/', '.rows tbody tr', ['/api/runs?']],
  ['a run', `/runs/${BUSY}`, '.chart canvas', [`/api/runs/${BUSY}?`, `/api/runs/${BUSY}/curves?`]],
  ['its steps', `/runs/${BUSY}/steps`, '.steps tbody tr', [`/api/runs/${BUSY}/curves?`]],
  ['its episodes', `/runs/${BUSY}/episodes`, '.episodes tbody tr', [`/api/runs/${BUSY}/episodes?`]],
  ['the comparison of runs', `/compare/${BUSY}`, '.chart canvas', [`/api/runs/${BUSY}/curves?`]],
])('a live update of %s is below 20 kB', async (_, path, ready, parts) => {
  await page.goto('about:blank');
  await page.goto(`${opened.monitor.url}/#${path}`);
  await page.locator(ready).first().waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  answers.length = 0;
  const updates = (part: string) => answersOf(part).filter((answer) => answer.path.includes('since='));
  for (const count of [1, 2]) {
    await trainStep();
    await eventually('its update', () => parts.every((part) => updates(part).length >= count), 60_000);
  }
  expect(await page.locator('.problem').count()).toBe(0);
  const bytes = parts.map((part) => Math.max(...updates(part).map((answer) => answer.bytes)));
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(20_000);
});
