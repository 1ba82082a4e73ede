import { makeTask } from '@ui-rl/testkit';
import { TaskHealth } from './task-health';

const [a, b, c] = ['a', 'b', 'c'].map((id) => makeTask({ id }));

it('a task that fails time and again while others are played is taken out', () => {
  const health = new TaskHealth();
  const outcomes = [1, 2, 3].map(() => {
    health.played(a);
    return health.failed(b);
  });
  expect(outcomes).toEqual([false, false, true]);
});

it('one that was played in between is not', () => {
  const health = new TaskHealth();
  const outcomes = [1, 2, 3, 4, 5, 6].map((round) => {
    health.played(a);
    if (round % 2 === 0) health.played(b);
    return health.failed(b);
  });
  expect(outcomes).not.toContain(true);
});

it('none is blamed while all of them fail', () => {
  const health = new TaskHealth();
  for (const task of [a, b, c]) health.played(task);
  const outcomes = [1, 2, 3, 4].flatMap(() => [a, b, c].map((task) => health.failed(task)));
  expect(outcomes).not.toContain(true);
  expect(health.othersArePlayed(a)).toBe(false);
  health.played(b);
  expect(health.othersArePlayed(a)).toBe(true);
  // A single task has no others to compare with.
  const alone = new TaskHealth();
  alone.played(a);
  expect([1, 2, 3, 4].map(() => alone.failed(a))).not.toContain(true);
});
