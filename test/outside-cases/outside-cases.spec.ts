import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const TABLE = readFileSync(join(__dirname, 'README.md'), 'utf8');

/** `| behaviour | path/of.spec.ts › part of a title; another.spec.ts › … |` */
const rows = TABLE.split('\n')
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const tests = rows.flatMap(([, number, , cell]) =>
  cell
    .split('; ')
    .map((each) => [number, ...each.replaceAll('`', '').split(' › ')] as [string, string, string]),
);

it('has a row for each kind, with its tests', () => {
  expect(new Set(rows.map(([, number]) => Number(number))).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThanOrEqual(33);
  for (const [number, file, title] of tests)
    expect([number, file, title]).toEqual([
      number,
      expect.stringMatching(/\.spec\.ts$/),
      expect.stringMatching(/./),
    ]);
});

it.each(tests)('%s: %s has a test “%s”', (_number, file, title) => {
  const path = join(ROOT, file);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8').replaceAll("\\'", "'")).toContain(title);
});
