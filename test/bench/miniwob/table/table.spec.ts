import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableText } from './report';
import { Ledger, type Row } from './row';

const ROW: Row = {
  policy: 'small',
  weights: 'abcdef0123456789',
  setting: { look: '160x210', prompt: 'compact', action_format: 'json', temperature: 0, max_turns: 10 },
  page: 'click-test',
  split: 'test',
  seed: 0,
  training: { on: 'none', hours: null, episodes: null },
  episodes: [
    { seed: 1, raw: 1, turns: 1 },
    { seed: 2, raw: 0.5, turns: 3 },
    { seed: 3, raw: -1, turns: 2 },
    { seed: 4, raw: 0, turns: 10 },
  ],
  invalid: 0,
  seconds: 8,
  processorSeconds: 4,
  commit: 'abc',
  at: '2026-11-26T12:00:00.000Z',
};

describe('the table of MiniWoB++', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'uirl-table-'))));
  afterEach(() => rmSync(folder, { recursive: true }));
  const file = () => join(folder, 'ledger.jsonl');

  it('has a ledger that continues where it was stopped', () => {
    const ledger = Ledger.read(file());
    expect(ledger.has(ROW, 1)).toBe(false);
    ledger.add(ROW);
    const again = Ledger.read(file());
    expect(again.rows).toEqual([ROW]);
    expect(again.has(ROW, 4)).toBe(true);
    // More episodes, another seed set, other weights, and other prompt settings are missing.
    expect(again.has(ROW, 5)).toBe(false);
    expect(again.has({ ...ROW, seed: 1 }, 4)).toBe(false);
    expect(again.has({ ...ROW, weights: 'other' }, 4)).toBe(false);
    expect(again.has({ ...ROW, setting: { ...ROW.setting, temperature: 1 } }, 4)).toBe(false);
    appendFileSync(file(), '{"policy":\n');
    expect(() => Ledger.read(file())).toThrow(
      `${file()}, line 2 is not JSON: take the line out to play its page again`,
    );
  });

  it('tells both rules and the mean, with intervals, for all pages, each side and each page', () => {
    const lines = tableText([ROW, { ...ROW, page: 'click-dialog', split: 'train' }]).split('\n');
    const cells = (start: string) =>
      lines
        .find((line) => line.startsWith(`| ${start}`))!
        .split('|')
        .map((cell) => cell.trim());
    expect(cells('small').slice(1, 8)).toEqual([
      'small (weights abcdef01, 160x210, temperature 0)',
      ...['none', '2', '8', '25.0 [7.1–59.1]', '50.0 [21.5–78.5]', '0.13 ± 0.55'],
    ]);
    expect(cells('– training pages').slice(3, 6)).toEqual(['1', '4', '25.0 [4.6–69.9]']);
    expect(cells('click-dialog').slice(1, 8)).toEqual([
      ...['click-dialog', 'train', '4', '25.0 [4.6–69.9]', '50.0 [15.0–85.0]', '0.13 ± 0.84', '4.0'],
    ]);
    expect(cells('Qwen3-VL-8B')[2]).toBe('53.6');
  });

  it('counts the last row of a page, and keeps policies apart', () => {
    const again = { ...ROW, episodes: ROW.episodes.map((each) => ({ ...each, raw: 1 })) };
    const other = {
      ...ROW,
      policy: 'after RL',
      weights: '0123456789abcdef',
      training: { on: 'all' as const, hours: 5, episodes: 9000 },
    };
    const text = tableText([ROW, again, other]);
    expect(text).toMatch(/^\| small .*\| 100\.0 \[/m);
    expect(text).toMatch(/^\| after RL .*\| all \| 1 \| 4 \| 25\.0 .*\| 5\.0 \|/m);
  });
});
