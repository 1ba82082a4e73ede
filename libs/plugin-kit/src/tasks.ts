import type { Task } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import { callPlugin } from './call-plugin';
import { PluginError } from './errors';
import type { Log, TaskSourceChoice } from './kinds';
import type { ComponentRegistry } from './registry';

/** A task that a source has loaded. */
export type LoadedTask = Task & { id: string };

/**
 * The tasks of several sources, in the order they are named; a task that comes twice counts once.
 * Throws `PluginError` for an unknown source, an option it refuses, a task without an id, or two that share one.
 */
export async function loadTasks(
  registry: ComponentRegistry,
  choices: readonly TaskSourceChoice[],
  log: Log = () => {},
): Promise<LoadedTask[]> {
  const tasks = new Map<string, LoadedTask>();
  for (const choice of choices) {
    for (const task of await load(registry, choice, log)) {
      const loaded = withId(task, choice.source_type);
      const known = tasks.get(loaded.id);
      if (known !== undefined && known.description !== loaded.description) {
        throw new PluginError(
          'duplicate',
          `two tasks have the id "${loaded.id}": "${known.description}" and "${loaded.description}"`,
        );
      }
      tasks.set(loaded.id, known ?? loaded);
    }
  }
  return [...tasks.values()];
}

async function load(
  registry: ComponentRegistry,
  choice: TaskSourceChoice,
  log: Log,
): Promise<readonly Task[]> {
  const source = registry.create('task-source', choice, { log });
  return callPlugin(`task source "${choice.source_type}"`, DEADLINES.taskSource.ms, (deadline) =>
    source.load(deadline),
  );
}

function withId(task: Task, sourceType: string): LoadedTask {
  if (task.id !== undefined) return task as LoadedTask;
  throw new PluginError(
    'invalid',
    `source_type "${sourceType}" gave a task without id: "${task.description}"`,
  );
}
