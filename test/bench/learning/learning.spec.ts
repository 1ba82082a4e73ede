import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadRunFileComponents, readRunFile } from '@ui-rl/settings';
import { Lab, type Player } from '../../../plugins/env-browser/test/support';
import { defineRow, merged, TASKS, TASKS_FILE } from './definitions';
import { Ledger, refuseOutdated } from './ledger';
import { assertPlayed, evaluated, marksAtTheEnd, marksOf, WINDOW, type Row } from './row';
import { tables } from './table';

jest.setTimeout(60_000);

const rows = Object.entries(TASKS).flatMap(([task, { algorithms }]) =>
  algorithms.map((algorithm) => defineRow(task, algorithm, 1)),
);

function row(changes: Partial<Row> = {}): Row {
  const { task, algorithm, seed, digest } = defineRow('steps', 'grpo', 0);
  return {
    ...{ task, algorithm, seed, definition: digest, commit: 'abc', at: '2026-01-01', gflops: 100 },
    ...{ steps: 40, episodes: 2560, invalidShare: 0, seconds: 60, before: evaluated(10, 100) },
    ...{ processorSeconds: { learner: 50, browser: 25 }, after: evaluated(90, 100) },
    marks: { 50: { episodes: 500, seconds: 20 }, 80: { episodes: 900, seconds: 40 }, 90: null },
    ...changes,
  };
}

describe('rows', () => {
  it('are run files that a run begins with', async () => {
    const registry = await loadRunFileComponents({ options: { plugins: [TASKS_FILE] } });
    const read = (groups: object) => readRunFile({ options: groups }, registry);
    for (const { runFile, collecting } of rows) {
      const stored = { training: { warm_start: { episodes: __filename } } };
      const run = read(collecting === undefined ? runFile : merged(runFile, stored));
      expect(run.training.seed).toBe(1);
      if (collecting !== undefined) expect(read(collecting).training.learning_rate).toBe(1e-12);
    }
  });

  it('differ in definition where they differ in anything but the seed', () => {
    const digests = rows.map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(digests.length);
    expect(defineRow('steps', 'grpo', 2).digest).toBe(defineRow('steps', 'grpo', 0).digest);
  });

  it('are refused by name', () => {
    expect(() => defineRow('steps', 'magic', 0)).toThrow('there is no algorithm "magic"; there are grpo,');
    expect(() => defineRow('phone', 'muon', 0)).toThrow('phone has no row muon');
  });
});

describe('marks', () => {
  const played = (count: number, success: boolean, from: number) =>
    Array.from({ length: count }, (_, index) => ({ atMs: 10 * (from + index), success }));

  it('are reached where enough of the last episodes succeeded', () => {
    const all = [...played(WINDOW, false, 1), ...played(WINDOW, true, WINDOW + 1)];
    const { 50: half, 80: most } = marksOf(all.toReversed());
    expect(half).toEqual({ episodes: 1.5 * WINDOW, seconds: (1.5 * WINDOW) / 100 });
    expect(most?.episodes).toBe(WINDOW + Math.ceil(0.8 * WINDOW));
  });

  it('are not reached by a few episodes', () => {
    expect(marksOf(played(WINDOW - 1, true, 0))).toEqual({ 50: null, 80: null, 90: null });
  });

  it('count at the end where nothing was played', () => {
    const price = { episodes: 512, seconds: 30 };
    expect(marksAtTheEnd(evaluated(85, 100), price)).toEqual({ 50: price, 80: price, 90: null });
  });
});

it('a row of which more than a twentieth was invalid is not taken', () => {
  expect(() => assertPlayed({ invalidShare: 0.05 })).not.toThrow();
  expect(() => assertPlayed({ invalidShare: 0.06 })).toThrow('6 % of its episodes were invalid');
});

describe('the ledger', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'ledger-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('knows which rows are taken', () => {
    const file = join(folder, 'ledger.jsonl');
    Ledger.read(file).add(row());
    const ledger = Ledger.read(file);
    expect(ledger.rows).toEqual([row()]);
    expect(ledger.has(defineRow('steps', 'grpo', 0))).toBe(true);
    expect(ledger.has(defineRow('steps', 'grpo', 1))).toBe(false);
    expect(ledger.outdated()).toEqual([]);
  });

  it('is refused with rows whose definition is another one, or gone, until they are dropped', () => {
    const file = join(folder, 'ledger.jsonl');
    const outdated = [row({ seed: 1, definition: 'other' }), row({ algorithm: 'gone' })];
    writeFileSync(file, [row(), ...outdated].map((each) => `${JSON.stringify(each)}\n`).join(''));
    const ledger = Ledger.read(file);
    expect(() => refuseOutdated(ledger.outdated())).toThrow('steps, grpo, seed 1; steps, gone, seed 0');
    ledger.drop(ledger.outdated());
    expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(row())}\n`);
  });

  it('becomes a table: seeds together, medians over those that reached a mark', () => {
    const other = row({
      seed: 1,
      after: evaluated(70, 100),
      marks: { 50: { episodes: 700, seconds: 30 }, 80: null, 90: null },
    });
    const lines = tables([row(), other]).split('\n');
    expect(lines[0]).toBe(`**steps**: ${TASKS.steps.ability}. Before: 10 % [7–15].`);
    expect(lines.at(-1)).toBe(
      '| grpo | 0, 1 | 80 % [74–85] | 600 | 900 (1 of 2) | – | 25 | 40 (1 of 2) | – | 2560 | 60 | 75 |',
    );
  });
});

describe('the screens', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = new Lab();
    lab.pages.screens = join(__dirname, 'screens');
    await lab.start();
  });
  afterAll(() => lab.stop());

  const open = (screen: string) => lab.open({ page: 'screens', reset: { screen } }, { seed: 1 });
  const click = (player: Player, [x, y]: readonly [number, number]) => player.act({ action: 'click', x, y });

  /** The state after clicks on a fresh screen. */
  async function after(screen: string, ...places: readonly (readonly [number, number])[]) {
    const player = await open(screen);
    for (const place of places) await click(player, place);
    return await player.close();
  }

  it('show six names, of which one is tapped', async () => {
    const tiles = [48, 112, 176].flatMap((y) => [40, 120].map((x) => [x, y] as const));
    const tapped = [];
    for (const tile of tiles) tapped.push(await after('named', tile));
    const names = ['Alarm', 'Carl', 'Dora', 'Emma', 'Fire', 'River'];
    expect(tapped).toEqual(names.map((name) => ({ tapped: name })));
    expect(await after('named', [80, 4])).toEqual({ tapped: 'nothing' });
  });

  it('count what was saved after the last step, and nothing else', async () => {
    const [more, save, like] = [60, 124, 188].map((y) => [80, y] as const);
    expect(await after('steps', save)).toEqual({ step: 0, saved: 0 });
    expect(await after('steps', more, like, more, more, save)).toEqual({ step: 2, saved: 2 });
  });
});
