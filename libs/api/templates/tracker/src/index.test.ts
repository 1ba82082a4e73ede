import assert from 'node:assert/strict';
import test from 'node:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrackerContext } from '@ui-rl/plugin-kit';
import component from './index.js';

const at = new Date().toISOString();

test('writes a line per step, and replaces the lines of steps that a resumed run repeats', async () => {
  const runDir = mkdtempSync(join(tmpdir(), 'my-component-'));
  const context: TrackerContext = { runId: 'run', runDir, config: {}, environment: {}, log: () => undefined };
  const tracker = await component.create({ metric: 'optim/loss' }, context);
  for (const step of [1, 2, 3]) await tracker.step({ step, at, metrics: { 'optim/loss': step / 2 } });
  await tracker.resume?.(2);
  await tracker.step({ step: 2, at, metrics: { 'optim/loss': 7 } });
  await tracker.step({ step: 3, at, metrics: {} });
  await tracker.close();
  assert.equal(readFileSync(join(runDir, 'my-component.csv'), 'utf8'), '1,0.5\n2,7\n3,\n');
  rmSync(runDir, { recursive: true });
});
