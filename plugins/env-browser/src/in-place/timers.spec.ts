import { Lab } from '../../test/support';
import type { BrowserTab } from '../browser-tab';

/** A page with timers and an animation that never end. */
const PAGE = `<!doctype html>
<style>
  @keyframes go { to { margin-left: 90px } }
  #box { width: 9px; height: 9px; visibility: hidden; animation: go 1s infinite }
</style>
<div id="box"></div><script>
  const ran = { interval: 0, timeout: 0, frame: 0, idle: 0 };
  const log = [];
  let interval = setInterval(() => ran.interval++, 5);
  (function again() { ran.timeout++; setTimeout(again, 5); })();
  (function again() { ran.frame++; requestAnimationFrame(again); })();
  (function again() { ran.idle++; requestIdleCallback(again); })();
  window.uirl = {
    reset() { log.push('reset'); },
    state: () => ({}),
  };
</script>`;

/** How often its timers have run. */
const RAN = '({ ...ran, animation: document.getAnimations()[0].currentTime })';
/** Timers of another world of the same document, which are due after all of the page's. */
const TURNS = `(async () => {
  for (let turn = 0; turn < 3; turn++) {
    await new Promise((done) => setTimeout(done, 50));
    await new Promise((done) => requestAnimationFrame(done));
  }
})()`;
const MOST_ROUNDS = 100;

type Ran = Record<'interval' | 'timeout' | 'frame' | 'idle' | 'animation', number>;

describe.each(['own', 'in_place'] as const)('a page that is kept, with reset: %s', (reset) => {
  const lab = new Lab();
  lab.page('p', PAGE);
  beforeAll(async () => {
    await lab.start({ reset }, 1);
    // The first frames of the first resets in place are compared with fresh loads.
    for (const seed of [101, 102, 103]) await (await lab.open({ page: 'p' }, { seed })).close();
  });
  afterAll(() => lab.stop());

  const ran = (tab: BrowserTab) => tab.answers.evaluate<Ran>(RAN);

  /** The tab of a finished episode, whose timers have stopped. */
  async function resting(): Promise<BrowserTab> {
    await (await lab.open({ page: 'p' })).close();
    const [tab] = lab.idleTabs();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = await ran(tab);
      await tab.answers.apart(TURNS);
      if (JSON.stringify(await ran(tab)) === JSON.stringify(before)) return tab;
    }
    throw new Error(`it still runs after ${MOST_ROUNDS} rounds: ${JSON.stringify(await ran(tab))}`);
  }

  it('runs no timer between two episodes, and all of them in the next one', async () => {
    const tab = await resting();
    const before = await ran(tab);
    const next = await lab.open({ page: 'p' });
    await tab.answers.apart(TURNS);
    await tab.answers.apart('new Promise((done) => requestIdleCallback(done))');
    const after = await ran(tab);
    for (const kind of ['interval', 'timeout', 'frame', 'idle'] as const)
      expect(after[kind]).toBeGreaterThan(before[kind]);
    expect(await tab.answers.evaluate('document.getAnimations()[0].playbackRate')).toBe(1);
    await next.close();
  });

  it('runs what came due meanwhile before the reset, in order, and leaves out what was stopped', async () => {
    const tab = await resting();
    await tab.answers.evaluate(`(() => {
      log.length = 0;
      const stopped = setTimeout(() => log.push('stopped'), 0);
      setTimeout(() => { log.push('second'); clearTimeout(third); }, 5);
      setTimeout(() => log.push('first'), 1);
      const third = setTimeout(() => log.push('third'), 6);
      clearTimeout(stopped);
    })()`);
    await tab.answers.apart(TURNS);
    expect(await tab.answers.evaluate('log')).toEqual([]);
    await (await lab.open({ page: 'p' })).close();
    expect(await tab.answers.evaluate('log')).toEqual(['first', 'second', 'reset']);
  });

  it('keeps the ids of its timers', async () => {
    const tab = await resting();
    const next = await lab.open({ page: 'p' });
    await tab.answers.evaluate('clearInterval(interval)');
    const stopped = await ran(tab);
    await tab.answers.apart(TURNS);
    const after = await ran(tab);
    expect(after.interval).toBe(stopped.interval);
    expect(after.timeout).toBeGreaterThan(stopped.timeout);
    await next.close();
  });
});
