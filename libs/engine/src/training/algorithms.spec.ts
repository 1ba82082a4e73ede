import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Algorithms } from './algorithms';

const PLUGIN = `
exports.made = { losses: [], optimizers: [] };
const options = { size: { type: 'number', description: 'a size', default: 1, above: 0 }, other: { type: 'number', description: 'another', default: 0 } };
exports.components = [
  { kind: 'policy-loss', name: 'counted', description: 'Counts.', inputs: ['advantages'], scope: 'token', options,
    create: (given) => (exports.made.losses.push(given.size), { build: () => {} }) },
  { kind: 'optimizer', name: 'counted', description: 'Counts.', options,
    create: (given) => (exports.made.optimizers.push(given.size), { update: () => {} }) },
];`;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'algorithms-'));
  file = join(folder, 'counted.js');
  writeFileSync(file, PLUGIN);
});
afterEach(() => rmSync(folder, { recursive: true }));

const madeBy = (path: string) => (require(path) as { made: { losses: number[]; optimizers: number[] } }).made;

it('makes the component of a choice once, however often it is used', async () => {
  const algorithms = await Algorithms.load([file]);
  const loss = algorithms.loss({ name: 'counted', size: 2, other: 3 });
  expect(algorithms.loss({ other: 3, name: 'counted', size: 2 })).toBe(loss);
  expect(algorithms.loss({ name: 'counted', size: 4 })).not.toBe(loss);
  expect(algorithms.loss({ name: 'counted', size: 2, other: 3 }, [{ name: 'kl' }])).not.toBe(loss);
  const optimizer = algorithms.optimizer({ name: 'counted' });
  expect(algorithms.optimizer({ name: 'counted' })).toBe(optimizer);
  expect(madeBy(file)).toEqual({ losses: [2, 4, 2], optimizers: [1] });
});

it('refuses an invalid choice each time', async () => {
  const algorithms = await Algorithms.load([file]);
  for (const _ of [1, 2]) {
    expect(() => algorithms.loss({ name: 'counted', size: 0 })).toThrow(
      /size is 0, expected a number above 0/,
    );
    expect(() => algorithms.optimizer({ name: 'none' })).toThrow(/no optimizer is named "none"/);
  }
});

it('keeps a bounded number of choices', async () => {
  const algorithms = await Algorithms.load([file]);
  const first = algorithms.loss({ name: 'counted', size: 1 });
  for (let size = 2; size <= 101; size += 1) algorithms.loss({ name: 'counted', size });
  expect(algorithms.loss({ name: 'counted', size: 1 })).not.toBe(first);
});
