import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JudgedEpisode, Observation } from '@ui-rl/plugin-kit';
import { makeTask } from '@ui-rl/testkit';
import { IsolatedComponent } from './isolated-component';

/** With this bonus it can be created once. */
const LATER_REFUSED = 77;

/** A component as a plugin author writes it; the seed selects its behaviour. */
const REWARD = `
exports.default = {
  kind: 'reward',
  name: 'moody',
  options: { bonus: { type: 'number', description: 'what it pays', default: 1 } },
  create: async ({ bonus }, { log }) => {
    if (bonus === ${LATER_REFUSED} && created()) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      throw new Error('cannot be made again');
    }
    return judge(bonus, log);
  },
};
/** Whether one was created before, in whichever thread. */
function created() {
  const mark = __filename + '.created';
  if (require('node:fs').existsSync(mark)) return true;
  require('node:fs').writeFileSync(mark, '');
  return false;
}
function judge(bonus, log) {
  return {
    async score({ seed, success, turns, finalObservation }, { deadlineAt, signal }) {
      if (seed === 1) for (;;);
      if (seed === 2) process.exit(3);
      if (seed === 3) throw new Error('no idea');
      if (seed === 4) await new Promise((resolve) => signal.addEventListener('abort', resolve));
      if (seed === 5) return { turns: [() => 0] };
      if (seed === 6) for (const hog = []; ; ) hog.push(new Array(1e6).fill(seed));
      const png = Buffer.from(await finalObservation.png()).toString();
      log('info', 'scores ' + turns.length + ' turns, ' + turns[0].observation.sha256);
      return success && deadlineAt > Date.now() ? { paid: bonus, shown: png.length } : 0;
    },
  };
}`;

const DIALECT = `
exports.default = {
  kind: 'action-dialect',
  name: 'curt',
  create: () => ({
    describe: ({ screenshot }) => 'You see ' + screenshot.width + ' pixels.',
    parse: (text, { screenshot }) => {
      while (text === 'hm');
      return { ok: true, actions: [{ action: 'click', x: screenshot.width - 1, y: text.length }] };
    },
    format: () => '',
  }),
};`;

const observation = (name: string): Observation => ({
  sha256: name,
  width: 160,
  height: 224,
  png: async () => Buffer.from(`png of ${name}`),
});

const episode = (seed: number): JudgedEpisode => ({
  task: makeTask(),
  seed,
  status: 'completed',
  success: true,
  turns: [{ index: 0, observation: observation('first'), text: 'click', actions: [] }],
  finalObservation: observation('last'),
  stateBefore: null,
  stateAfter: { screen: 'home' },
});

let folder: string;
let judge: IsolatedComponent;
const logged: string[] = [];

const start = (bonus: unknown = 2, name = 'moody') =>
  IsolatedComponent.start(
    { file: join(folder, 'moody.js'), kind: 'reward', choice: { name, bonus } },
    (_, message) => logged.push(message),
    { graceMs: 100, maxHeapMb: 200 },
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'judge-'));
  writeFileSync(join(folder, 'moody.js'), REWARD);
  writeFileSync(join(folder, 'curt.js'), DIALECT);
  judge = await start();
});
afterAll(async () => {
  await judge.close();
  rmSync(folder, { recursive: true });
});

const score = (seed: number, ms = 20_000) =>
  judge.score(episode(seed), { deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) });

it('scores an episode, screenshots on demand, with its options and a log', async () => {
  expect(await score(0)).toEqual({ paid: 2, shown: 'png of last'.length });
  expect(logged).toEqual(['scores 1 turns, first']);
  await expect(score(3)).rejects.toThrow('no idea');
  await expect(score(5)).rejects.toThrow('its result cannot be sent');
});

it('ends a call that never gives control back, and it alone', async () => {
  const [stuck, other] = await Promise.allSettled([score(1, 200), score(0)]);
  expect(stuck).toMatchObject({ reason: { message: 'it did not end when its time was over' } });
  expect(other).toMatchObject({ value: { paid: 2 } });
  expect(await score(0)).toMatchObject({ paid: 2 });
});

it('tells a call that its time is over, which may end in order', async () => {
  expect(await score(4, 50)).toBe(0);
});

it('outlives a plugin that exits or takes all memory', async () => {
  await expect(score(2)).rejects.toThrow('its thread ended with code 3');
  await expect(score(6, 60_000)).rejects.toThrow(/its thread failed: .*memory/);
  expect(await score(0)).toMatchObject({ paid: 2 });
}, 60_000);

it('ends a call whose time is over while another thread starts, which then cannot be made', async () => {
  const own = await start(LATER_REFUSED);
  const ask = (seed: number, ms: number) =>
    own.score(episode(seed), { deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) });
  await expect(ask(2, 20_000)).rejects.toThrow('its thread ended with code 3');
  await expect(ask(0, 200)).rejects.toThrow(/did not end when its time was over|cannot be made again/);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await own.close();
});

it('refuses what cannot be made, when it is to be made', async () => {
  await expect(start('much')).rejects.toMatchObject({ name: 'PluginError', category: 'option' });
  await expect(start(1, 'cheerful')).rejects.toMatchObject({ name: 'PluginError', category: 'unknown' });
});

it('ends what is under way when it is closed', async () => {
  const own = await start();
  const under = own.score(episode(4), {
    deadlineAt: Date.now() + 60_000,
    signal: new AbortController().signal,
  });
  const outcome = under.catch((error: Error) => error.message);
  await own.close();
  expect(await outcome).toBe('the run is over');
});

it('reads answers, too', async () => {
  const dialect = await IsolatedComponent.start(
    { file: join(folder, 'curt.js'), kind: 'action-dialect', choice: { name: 'curt' } },
    () => undefined,
    { graceMs: 100, maxHeapMb: 200 },
  );
  const deadline = (ms: number) => ({ deadlineAt: Date.now() + ms, signal: AbortSignal.timeout(ms) });
  const sizes = { screenshot: { width: 160, height: 224 }, modelImage: { width: 80, height: 112 } };
  expect(await dialect.describe(sizes, deadline(20_000))).toBe('You see 160 pixels.');
  await expect(dialect.parse('hm', sizes, deadline(100))).rejects.toThrow(
    'it did not end when its time was over',
  );
  expect(await dialect.parse('yes', sizes, deadline(20_000))).toEqual({
    ok: true,
    actions: [{ action: 'click', x: 159, y: 3 }],
  });
  await dialect.close();
});
