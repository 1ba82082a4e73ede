import { fillWithRuns } from '../test/many-runs';
import { type OpenPage, openPage } from '../test/open-page';
import { BusyTab } from '../test/tab-memory';

/** A tab that stays open while a run trains. `test/tab-memory.main.ts` follows it for an hour. */

/** Until caches are full and functions are compiled. */
const WARM_UP = 40;
const UPDATES = 120;
/** A step adds a point to each chart. A stored step has 65 metrics. */
const MAX_BYTES_PER_UPDATE = 3_000;

let opened: OpenPage;
beforeAll(async () => {
  opened = await openPage(fillWithRuns);
}, 240_000);
afterAll(() => opened.close());

test('an update leaves nothing in the tab but its points', async () => {
  const tab = await BusyTab.open(opened);
  await tab.follow(WARM_UP);
  const before = await tab.memory();
  await tab.follow(UPDATES);
  const after = await tab.memory();
  expect(after.listeners - before.listeners).toBeLessThan(UPDATES / 10);
  expect(after.nodes - before.nodes).toBeLessThan(UPDATES / 10);
  expect(after.heapBytes - before.heapBytes).toBeLessThan(UPDATES * MAX_BYTES_PER_UPDATE);
  expect(opened.problems).toEqual([]);
}, 240_000);
