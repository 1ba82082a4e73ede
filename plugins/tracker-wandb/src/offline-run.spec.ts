import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrackedEvaluation, TrackedStep } from '@ui-rl/plugin-kit';
import { appended, readLog } from './log-file';
import { OfflineRun } from './offline-run';
import { exitRecord, headerRecord, readRows, rowRecords, runRecord, stepMetricRecord } from './records';

const at = '2026-11-22T00:00:00.000Z';
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tracker-'));
});
afterEach(() => rm(dir, { recursive: true }));

function stepOf(step: number, loss = step / 10): TrackedStep {
  return { step, at, metrics: { 'optim/loss': loss } };
}

function evaluationAt(step: number): TrackedEvaluation {
  const metrics = { 'test/eval_goals/env/all/success': 0.5 };
  return { step, at, stage: 'periodic', set: 'eval_goals', successRate: 0.5, episodes: 4, metrics };
}

async function resumedAt(step: number): Promise<OfflineRun> {
  const config = { training: { learning_rate: 1e-4 } };
  const tracker = new OfflineRun(dir, { runId: 'run-1', project: 'phones', name: 'first', config });
  await tracker.resume(step);
  return tracker;
}

async function file(): Promise<string> {
  const [folder, ...others] = await readdir(dir);
  expect(others).toEqual([]);
  expect(folder).toMatch(/^offline-run-20261122_000000-[0-9a-f]{16}$/);
  const names = await readdir(join(dir, folder));
  expect(names).toEqual([`run-${folder.split('-').at(-1)!}.wandb`]);
  return join(dir, folder, names[0]);
}

async function rows(): Promise<Record<string, number>[]> {
  const bytes = await readFile(await file());
  const { records, end } = readLog(bytes);
  expect(end).toBe(bytes.length);
  return readRows(records).map(({ metrics }) => metrics);
}

const EVALUATED = { 'test/eval_goals/env/all/success': 0.5 };

// "wandb sync" of wandb 0.31.0 uploads the same bytes; its DataStore (0.17.9) reads them. test/golden/check_wandb.py
// checks complete runs.
it('writes the file that wandb sync reads', () => {
  const startedAt = at;
  const description = {
    id: 'abc',
    project: 'phones',
    name: 'first',
    tags: ['run:1'],
    host: 'here',
    startedAt,
  };
  const records = [
    headerRecord(1),
    runRecord(2, { ...description, config: { model: { name: 'small' } } }),
    stepMetricRecord(3),
    ...rowRecords(4, 0, { at, metrics: { 'optim/loss': 0.25, 'progress/batch': 3 } }, at),
    exitRecord(6),
  ];
  expect(appended(0, records).toString('hex')).toMatchInlineSnapshot(
    `"3a572642e1be004c0e49d31600010801aa01110a0f0a0575692d726c1206302e31332e30c4afda034f000108028a014a0a036162631a0670686f6e6573221c0a1a12056d6f64656c8201107b226e616d65223a22736d616c6c227d3a056669727374520572756e3a316a04686572658a01080880e188d8061000ee22ea3b1d00010803621912012a220e70726f67726573732f62617463683204080118018898bc7567000108041a630a13120a6f7074696d2f6c6f7373820104302e32350a14120e70726f67726573732f6261746368820101330a0b12055f73746570820101300a19120a5f74696d657374616d7082010a313739353330353630300a0e12085f72756e74696d65820101308352b8a26b0001080512670a13120a6f7074696d2f6c6f7373820104302e32350a14120e70726f67726573732f6261746368820101330a0b12055f73746570820101300a19120a5f74696d657374616d7082010a313739353330353630300a0e12085f72756e74696d658201013012020800c43b09880500010806920100"`,
  );
});

it("writes NaN and infinities as wandb does, by the bare names of Python's json", () => {
  const values = { a: NaN, b: Infinity, c: -Infinity };
  const [summary, history] = rowRecords(1, 0, { at, metrics: values }, at);
  for (const record of [summary, history]) {
    const written = Buffer.from(record).toString('latin1');
    expect([...written.matchAll(/[abc]\W{2}[^]((?:-I|I|N)[a-zA-Z]+)/g)].map(([, value]) => value)).toEqual([
      'NaN',
      'Infinity',
      '-Infinity',
    ]);
  }
});

it('has a row per step and per evaluation, along the steps', async () => {
  const tracker = await resumedAt(0);
  await tracker.step(stepOf(1));
  await tracker.step(stepOf(2));
  await tracker.evaluation(evaluationAt(1));
  await tracker.evaluation(evaluationAt(1));
  await tracker.close();
  expect(await rows()).toEqual([
    { 'optim/loss': 0.1, 'progress/batch': 1 },
    { 'optim/loss': 0.2, 'progress/batch': 2 },
    { ...EVALUATED, 'progress/batch': 1 },
  ]);
});

it('drops records after the step that the run continues from, and half a record', async () => {
  const first = await resumedAt(0);
  for (const step of [1, 2, 3]) await first.step(stepOf(step));
  await first.evaluation(evaluationAt(2));
  await first.evaluation(evaluationAt(3));
  await appendFile(await file(), Buffer.from('half'));
  const second = await resumedAt(2);
  await second.step(stepOf(2, 9));
  await second.step(stepOf(3, 9));
  await second.evaluation(evaluationAt(2));
  expect(await rows()).toEqual([
    { 'optim/loss': 0.1, 'progress/batch': 1 },
    { 'optim/loss': 0.2, 'progress/batch': 2 },
    { ...EVALUATED, 'progress/batch': 2 },
    { 'optim/loss': 9, 'progress/batch': 3 },
  ]);
});

it('cuts records at the blocks of the file, wherever these end', () => {
  for (let first = 32_740; first < 32_770; first += 1) {
    const records = [new Uint8Array(first).fill(1), new Uint8Array(100_000).fill(2), Uint8Array.of(3)];
    const begin = appended(0, records.slice(0, 1));
    const bytes = Buffer.concat([begin, appended(begin.length, records.slice(1))]);
    const read = readLog(bytes);
    expect(read.records.map((record) => [record.length, record[0]])).toEqual(
      records.map((record) => [record.length, record[0]]),
    );
    expect(read.end).toBe(bytes.length);
    expect(readLog(bytes.subarray(0, -1)).records).toHaveLength(2);
  }
});
