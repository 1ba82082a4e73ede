import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrackedEvaluation, TrackedStep } from '@ui-rl/plugin-kit';
import { EventFiles } from './event-files';
import { readEvent, scalarEvent, versionEvent } from './events';
import { crc32c, readRecords, writeRecord } from './records';

const at = '2026-11-22T00:00:00.000Z';
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tracker-'));
});
afterEach(() => rm(dir, { recursive: true }));

function stepOf(step: number): TrackedStep {
  return { step, at, metrics: { 'optim/loss': step / 10, 'progress/batch': step } };
}

function evaluationAt(step: number): TrackedEvaluation {
  const metrics = { 'test/eval_goals/env/all/success': 0.5 };
  return { step, at, stage: 'periodic', set: 'eval_goals', successRate: 0.5, episodes: 4, metrics };
}

async function bytes(): Promise<Buffer> {
  const names = await readdir(dir);
  expect(names).toHaveLength(1);
  expect(names[0]).toMatch(/^events\.out\.tfevents\.\d+\./);
  return readFile(join(dir, names[0]));
}

async function written(): Promise<[number, string[]][]> {
  const file = await bytes();
  const records = readRecords(file);
  expect(records.at(-1)!.end).toBe(file.length);
  return records.map(({ data }) => readEvent(data)).map(({ step, tags }) => [step, tags]);
}

async function resumedAt(step: number): Promise<EventFiles> {
  const tracker = new EventFiles(dir);
  await tracker.resume(step);
  return tracker;
}

const TRAINED = ['optim/loss', 'progress/batch'];
const EVALUATED = ['test/eval_goals/env/all/success'];

// The bytes that TensorBoard 2.21.0 reads with EventFileLoader: wall time 1795305600, step 3, loss 0.25.
// test/golden/check_tensorboard.py checks complete runs.
it('writes records as TensorFlow does', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(writeRecord(versionEvent(at)).toString('hex')).toMatchInlineSnapshot(
    `"2100000000000000017becf609000000208cc0da411a0d627261696e2e4576656e743a3252070a0575692d726c8a84e83d"`,
  );
  expect(
    writeRecord(scalarEvent({ step: 3, at, metrics: { 'optim/loss': 0.25 } })).toString('hex'),
  ).toMatchInlineSnapshot(
    `"200000000000000029eda95009000000208cc0da4110032a130a110a0a6f7074696d2f6c6f7373150000803e2750acd5"`,
  );
});

it('has the scalars of each step, and those of evaluations', async () => {
  const tracker = await resumedAt(0);
  await tracker.step(stepOf(1));
  await tracker.step(stepOf(2));
  await tracker.evaluation(evaluationAt(1));
  await tracker.evaluation(evaluationAt(1));
  expect(await written()).toEqual([
    [0, []],
    [1, TRAINED],
    [2, TRAINED],
    [1, EVALUATED],
  ]);
});

it('cuts off events after the step that the run continues from, and says so to readers', async () => {
  const first = await resumedAt(0);
  for (const step of [1, 2, 3]) await first.step(stepOf(step));
  await first.evaluation(evaluationAt(2));
  await first.evaluation(evaluationAt(3));
  const second = await resumedAt(2);
  for (const step of [2, 3]) await second.step(stepOf(step));
  await second.evaluation(evaluationAt(2));
  expect(await written()).toEqual([
    [0, []],
    [1, TRAINED],
    [2, TRAINED],
    [3, []],
    [2, EVALUATED],
    [3, TRAINED],
  ]);
});

it('drops half a record, and takes the step that it held', async () => {
  await (await resumedAt(0)).step(stepOf(1));
  const [name] = await readdir(dir);
  await appendFile(join(dir, name), writeRecord(scalarEvent(stepOf(2))).subarray(0, -3));
  await (await resumedAt(2)).step(stepOf(2));
  expect((await written()).filter(([, tags]) => tags.length > 0)).toEqual([
    [1, TRAINED],
    [2, TRAINED],
  ]);
});

it('reads no further than a damaged record', async () => {
  await (await resumedAt(0)).step(stepOf(1));
  const file = await bytes();
  const [, { begin }] = readRecords(file);
  for (const place of [begin, begin + 8, begin + 20, file.length - 1]) {
    const damaged = Buffer.from(file);
    damaged[place] ^= 1;
    expect(readRecords(damaged)).toHaveLength(1);
  }
});
