import assert from 'node:assert/strict';
import test from 'node:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import component from './index.js';

const context = { log: () => undefined, resolve: () => null };
const deadline = { deadlineAt: Date.now() + 10_000, signal: new AbortController().signal };

test('returns the requested number of tasks, each with its own id and a check', async () => {
  const tasks = await component.create({ limit: 3 }, context).load(deadline);
  assert.deepEqual(
    tasks.map(({ id }) => id),
    ['count_to_2', 'count_to_3', 'count_to_4'],
  );
  for (const { checks } of tasks) assert.equal(checks?.length, 1);
});

test('brings the page that its tasks are played on', async () => {
  const [task] = await component.create({ limit: 1 }, context).load(deadline);
  const page = component.pages?.[String(task.environment?.options.page)];
  assert.ok(typeof page === 'string' && existsSync(join(page, 'index.html')));
});
