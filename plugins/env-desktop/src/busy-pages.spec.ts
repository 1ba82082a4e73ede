import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lab, pixelOf, processesOf, until, type Player } from '../test/support';

const FULL = 'style="position:fixed;inset:0;background:#c81e32"';
/** Counts clicks, and runs some code on each of them; white until the first one. */
const pageThat = (does: string) => `<title>first</title><body style="margin:0"><script>
  let clicks = 0;
  onclick = () => { clicks += 1; document.body.innerHTML = '<div ${FULL}></div>'; ${does} };
  window.uirl = { state: () => ({ clicks }) };
</script>`;
/** Reports its state only after a delay. */
const SECOND = `<!doctype html><title>second</title><script>
  const until = performance.now() + 400;
  while (performance.now() < until);
  window.uirl = { state: () => ({ page: 'second' }) };
</script>`;

describe('a page on a desktop', () => {
  const lab = new Lab();
  beforeAll(async () => {
    lab.addPage('alerts', pageThat('alert("really?")'));
    lab.addPage('insists', pageThat('for (;;) alert("really?")'));
    lab.addPage('computes', pageThat('const until = Date.now() + 4_000; while (Date.now() < until);'));
    lab.addPage(
      'slow',
      `<title>slow</title><script>
      let clicks = 0;
      onclick = () => { clicks += 1; };
      window.uirl = { state: () => ({ clicks }), settled: () => new Promise((done) => { if (clicks === 0) done(); }) };
    </script>`,
    );
    lab.addPage('leads', pageThat('location.href = "second.html"'));
    writeFileSync(join(lab.pages.leads, 'second.html'), SECOND);
    await lab.start({}, { quiet_ms: 40, settle_ms: 1_000 });
  }, 60_000);
  afterEach(() => until(() => lab.traces().length === 0));
  afterAll(() => lab.stop(), 60_000);

  const click = (player: Player) => player.act({ action: 'click', x: 30, y: 200 }, 10_000);
  const still = (player: Player) => player.act({ action: 'wait', seconds: 0 }, 10_000);

  it('that waits for its dialog shows it, and continues when the agent has closed it', async () => {
    const player = await lab.play({ page: 'alerts' });
    const asked = await click(player);
    expect(asked).toMatchObject({ outcome: 'not_responding', done: false });
    expect(asked.state).toBeUndefined();
    expect(asked.screenshot.sha256).not.toBe(player.first.sha256);
    const closed = await player.act({ action: 'key', keys: ['enter'] });
    expect(closed).toMatchObject({ outcome: 'ok', state: { clicks: 1 } });
    expect(await pixelOf(closed.screenshot, 300, 220)).toEqual([0xc8, 0x1e, 0x32]);
    expect(await player.close()).toEqual({ clicks: 1 });
  }, 60_000);

  it('that waits for its dialog at the end is judged without it', async () => {
    const player = await lab.play({ page: 'alerts' });
    await click(player);
    expect(await player.close()).toEqual({ clicks: 1 });
  }, 60_000);

  it('that does not answer at the end fails as hung', async () => {
    const player = await lab.play({ page: 'insists' });
    await click(player);
    await expect(player.close()).rejects.toThrow(
      /hung: .*a page that does not answer: it is busy, or waits for a dialog/,
    );
  }, 60_000);

  it('that computes does not respond until it is done', async () => {
    const player = await lab.play({ page: 'computes' });
    expect(await click(player)).toMatchObject({ outcome: 'not_responding' });
    await player.act({ action: 'wait', seconds: 4 });
    expect(await still(player)).toMatchObject({ outcome: 'ok', state: { clicks: 1 } });
    expect(await player.close()).toEqual({ clicks: 1 });
  }, 60_000);

  it('that says it is not settled is left alone after settle_ms, and tells its state', async () => {
    const player = await lab.play({ page: 'slow' });
    expect(await click(player)).toMatchObject({ outcome: 'ok', state: { clicks: 1 } });
    await player.close();
  }, 60_000);

  it('that crashes ends the episode and says so', async () => {
    const player = await lab.play({ page: 'slow' });
    const isRenderer = ({ pid }: { pid: number }) =>
      readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('--type=renderer');
    const renderers = processesOf(lab.seats.at(-1)!.owner).filter(isRenderer);
    for (const { pid } of renderers) process.kill(pid, 'SIGKILL');
    await expect(still(player)).rejects.toThrow('crashed: the page is gone: its process has ended');
  }, 60_000);

  it('that leads on to another one is that one from then on', async () => {
    const player = await lab.play({ page: 'leads' });
    expect(await click(player)).toMatchObject({ outcome: 'ok', state: { page: 'second' } });
    expect(await player.close()).toEqual({ page: 'second' });
  }, 60_000);
});
