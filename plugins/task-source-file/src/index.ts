import {
  TaskEntries,
  type StoredTasks,
  type Task,
  type TaskSource,
  type TaskSourceComponent,
} from '@ui-rl/plugin-kit';
import { CustomOptions, DirectoryOptions, FileOptions } from './options';
import { TaskFile } from './task-file';
import { TaskFolder } from './task-folder';

const file: TaskSourceComponent<FileOptions> = {
  kind: 'task-source',
  name: 'file',
  description: 'Tasks from a file: whole ones, or goals in words.',
  options: FileOptions,
  create: ({ path, ...defaults }, context) =>
    stored(() => TaskFile.open(path, new TaskEntries(defaults, context))),
};

const directory: TaskSourceComponent<DirectoryOptions> = {
  kind: 'task-source',
  name: 'directory',
  description: 'Tasks from all task files of a folder.',
  options: DirectoryOptions,
  create: ({ path, ...defaults }, context) =>
    stored(() => TaskFolder.open(path, new TaskEntries(defaults, context))),
};

const custom: TaskSourceComponent<CustomOptions> = {
  kind: 'task-source',
  name: 'custom',
  description: 'Tasks that the run file says itself: goals in words, or whole ones.',
  options: CustomOptions,
  create: ({ custom_tasks: entries, ...defaults }, context) => ({
    load() {
      const reader = new TaskEntries(defaults, context);
      return entries.map((entry, index) => reader.read(entry, `custom_tasks[${index}]`));
    },
  }),
};

function stored(open: () => Promise<StoredTasks>): TaskSource {
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

export const components = [file, directory, custom];
