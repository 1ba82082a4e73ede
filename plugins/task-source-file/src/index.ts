import { storedSource, TaskEntries, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { CustomOptions, DirectoryOptions, FileOptions } from './options';
import { TaskFile } from './task-file';
import { TaskFolder } from './task-folder';

const file: TaskSourceComponent<FileOptions> = {
  kind: 'task-source',
  name: 'file',
  description: 'Tasks from a file: whole ones, or goals in words.',
  options: FileOptions,
  create: ({ path, ...defaults }, context) =>
    storedSource(() => TaskFile.open(path, new TaskEntries(defaults, context))),
};

const directory: TaskSourceComponent<DirectoryOptions> = {
  kind: 'task-source',
  name: 'directory',
  description: 'Tasks from all task files of a folder.',
  options: DirectoryOptions,
  create: ({ path, ...defaults }, context) =>
    storedSource(() => TaskFolder.open(path, new TaskEntries(defaults, context))),
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

export const components = [file, directory, custom];
