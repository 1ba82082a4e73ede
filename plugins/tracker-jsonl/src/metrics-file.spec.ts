import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrackedStep } from '@ui-rl/plugin-kit';
import { MetricsFile } from './metrics-file';

let dir: string;
let file: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tracker-'));
  file = join(dir, 'run/metrics.jsonl');
});
afterEach(() => rm(dir, { recursive: true }));

function stepOf(step: number, loss = step / 10): TrackedStep {
  return { step, at: '2026-11-22T00:00:00.000Z', metrics: { 'optim/loss': loss } };
}

async function lines(): Promise<[number, number][]> {
  const text = await readFile(file, 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { step: number; 'optim/loss': number })
    .map((line) => [line.step, line['optim/loss']]);
}

async function resumedAt(step: number): Promise<MetricsFile> {
  const tracker = new MetricsFile(file);
  await tracker.resume(step);
  return tracker;
}

it('has one line per step', async () => {
  const tracker = await resumedAt(0);
  await tracker.step(stepOf(1));
  await tracker.step(stepOf(2));
  expect(await lines()).toEqual([
    [1, 0.1],
    [2, 0.2],
  ]);
});

it('drops what lies behind the step the run goes on from, and does not take that step twice', async () => {
  const first = await resumedAt(0);
  for (const step of [1, 2, 3]) await first.step(stepOf(step));
  const second = await resumedAt(2);
  await second.step(stepOf(2, 9));
  await second.step(stepOf(3, 9));
  expect(await lines()).toEqual([
    [1, 0.1],
    [2, 0.2],
    [3, 9],
  ]);
});

it('takes the step the run goes on from where it is missing, and drops half a line', async () => {
  await (await resumedAt(0)).step(stepOf(1));
  await appendFile(file, '{"step":2,"at":"2026');
  const tracker = await resumedAt(2);
  await tracker.step(stepOf(2));
  expect(await lines()).toEqual([
    [1, 0.1],
    [2, 0.2],
  ]);
});
