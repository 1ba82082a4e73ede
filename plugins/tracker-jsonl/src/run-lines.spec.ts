import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrackedCheckpoint, TrackedStep } from '@ui-rl/plugin-kit';
import { RunLines } from './run-lines';

let dir: string;
let file: string;
let checkpoints: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tracker-'));
  file = join(dir, 'run/metrics.jsonl');
  checkpoints = join(dir, 'run/checkpoints.jsonl');
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

function checkpointOf(step: number): TrackedCheckpoint {
  const name = String(step).padStart(6, '0');
  const at = '2026-11-22T00:00:00.000Z';
  return { step, at, name, path: `/runs/r/checkpoints/${name}`, address: `uirl://r/sampler_weights/${name}` };
}

async function resumedAt(step: number): Promise<RunLines> {
  const tracker = new RunLines(join(dir, 'run'));
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

it('drops lines after the step that the run continues from, and does not take that step twice', async () => {
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

it('takes the step that the run continues from if it is missing, and drops half a line', async () => {
  await (await resumedAt(0)).step(stepOf(1));
  await appendFile(file, '{"step":2,"at":"2026');
  const tracker = await resumedAt(2);
  await tracker.step(stepOf(2));
  expect(await lines()).toEqual([
    [1, 0.1],
    [2, 0.2],
  ]);
});

it('has one line per checkpoint, also after a repeated report or a new learner', async () => {
  const first = await resumedAt(0);
  for (const step of [0, 2, 2, 4]) await first.checkpoint(checkpointOf(step));
  const second = await resumedAt(2);
  await second.checkpoint(checkpointOf(2));
  await second.checkpoint(checkpointOf(5));
  const text = await readFile(checkpoints, 'utf8');
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual(
    ['000000', '000002', '000005'].map((name) => ({
      name,
      batch: Number(name),
      state_path: `/runs/r/checkpoints/${name}`,
      sampler_path: `uirl://r/sampler_weights/${name}`,
      at: '2026-11-22T00:00:00.000Z',
    })),
  );
});
