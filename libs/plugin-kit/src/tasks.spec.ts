import type { Task } from '@ui-rl/contracts';
import type { TaskSourcePlugin } from './plugins';
import { PluginRegistry } from './registry';
import { loadTasks } from './tasks';

const task = (id: string | undefined, description: string): Task => ({ id, description });

function source(type: string, tasks: Task[]) {
  const plugin: TaskSourcePlugin = {
    kind: 'task-source',
    name: type,
    sourceTypes: [type],
    load: async ({ limit }) => tasks.slice(0, limit as number | undefined),
  };
  return { plugin, file: type };
}

const registry = new PluginRegistry([
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
    [['digits'], 'no task source answers source_type "digits" (known: letters, nameless, other, vowels)'],
  ])('refuses %j', async (types, message) => {
    await expect(
      loadTasks(
        registry,
        types.map((type) => ({ source_type: type })),
      ),
    ).rejects.toThrow(message);
  });
});
