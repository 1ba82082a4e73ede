import assert from 'node:assert/strict';
import test from 'node:test';
import component from './index.js';

test('rises to 1, then falls', () => {
  const schedule = component.create({ warmup: 4 }, { totalSteps: 100 });
  assert.deepEqual(
    [0, 1, 2, 3].map((step) => schedule.factor(step)),
    [0.25, 0.5, 0.75, 1],
  );
  assert.equal(schedule.factor(15), 0.5);
});
