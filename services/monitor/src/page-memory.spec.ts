import { fillWithRuns } from '../test/many-runs';
import { type OpenPage, openPage } from '../test/open-page';
import { BusyTab } from '../test/tab-memory';

/** Updates of each part; `services/monitor/test/tab-memory.main.ts` follows a run for an hour. */
const UPDATES = 30;

let opened: OpenPage;
beforeAll(async () => {
  opened = await openPage(fillWithRuns);
}, 240_000);
afterAll(() => opened.close());

test('a tab that follows a run keeps no nodes, listeners or answers of past updates', async () => {
  const tab = await BusyTab.open(opened);
  // The charts and lists reach their size, and functions are compiled.
  await tab.follow(UPDATES);
  const before = await tab.memory();
  await tab.follow(UPDATES);
  const after = await tab.memory();
  expect(after.nodes - before.nodes).toBeLessThan(2 * UPDATES);
  expect(after.listeners - before.listeners).toBeLessThan(UPDATES);
  // The curves of this run take 270 kB: one kept copy per update exceeds this. The heap itself varies by 1 MB.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(UPDATES * 70_000);
}, 240_000);
