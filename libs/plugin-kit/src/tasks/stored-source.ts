import type { Task } from '@ui-rl/contracts';
import type { StoredTasks, TaskSource } from '../kinds';

/** A task source that reads its tasks on demand. */
export function storedSource(open: () => Promise<StoredTasks>): TaskSource {
  return { open, load: async () => loadAll(await open()) };
}

async function loadAll(tasks: StoredTasks): Promise<Task[]> {
  const all: Task[] = [];
  try {
    for await (const some of tasks.read()) for (const task of some) all.push(task);
    return all;
  } finally {
    await tasks.close();
  }
}
