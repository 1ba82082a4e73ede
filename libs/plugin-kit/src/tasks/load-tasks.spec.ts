import type { Task } from '@ui-rl/contracts';
import type { TaskSourceComponent } from '../kinds';
import { ComponentRegistry } from '../registry';
import { loadTasks } from './load-tasks';

const task = (id: string | undefined, description: string): Task => ({ id, description });

function source(type: string, tasks: Task[]) {
  const component: TaskSourceComponent<{ limit?: number }> = {
    kind: 'task-source',
    name: type,
    options: { limit: { type: 'integer', description: 'so many at most', atLeast: 1 } },
    create: ({ limit }) => ({ load: async () => tasks.slice(0, limit) }),
  };
  return { component: component as TaskSourceComponent, file: type };
}

const registry = new ComponentRegistry([
  source('letters', [task('a', 'Open A'), task('b', 'Open B')]),
  source('vowels', [task('a', 'Open A'), task('e', 'Open E')]),
  source('other', [task('a', 'Close A')]),
  source('nameless', [task(undefined, 'Open X')]),
]);

describe('loadTasks', () => {
  it('joins sources in order, each task once, and hands them their options', async () => {
    const tasks = await loadTasks(registry, [
      { source_type: 'letters', limit: 1 },
      { source_type: 'vowels' },
    ]);
    expect(tasks.map(({ id }) => id)).toEqual(['a', 'e']);
  });

  it.each([
    [['letters', 'other'], 'two tasks have the id "a": "Open A" and "Close A"'],
    [['nameless'], 'source_type "nameless" gave a task without id: "Open X"'],
    [['digits'], 'no task-source is named "digits" (known: letters, nameless, other, vowels)'],
  ])('refuses %j', async (types, message) => {
    await expect(
      loadTasks(
        registry,
        types.map((type) => ({ source_type: type })),
      ),
    ).rejects.toThrow(message);
  });
});
