import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PluginError, type StoredTasks, type Task, type TaskEntries } from '@ui-rl/plugin-kit';
import { FORMATS, formatOf } from './formats';
import { TaskFile } from './task-file';

/** The tasks of all task files in a folder, one file after the other. Other files are ignored. */
export class TaskFolder implements StoredTasks {
  private constructor(private readonly files: readonly TaskFile[]) {}

  /** @throws PluginError `option` if there are none */
  static async open(folder: string, entries: TaskEntries): Promise<TaskFolder> {
    const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
      throw new PluginError('option', `tasks: ${folder} cannot be read: ${(cause as Error).message}`, {
        cause,
      });
    });
    const paths = found
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && formatOf(entry.name) !== undefined)
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted();
    if (paths.length === 0) {
      const endings = FORMATS.flatMap((each) => each.endings).join(', ');
      throw new PluginError('option', `tasks: ${folder} holds no file that ends with ${endings}`);
    }
    const files: TaskFile[] = [];
    for (const path of paths) files.push(await TaskFile.open(path, entries));
    return new TaskFolder(files);
  }

  async *read(): AsyncGenerator<readonly Task[]> {
    for (const file of this.files) yield* file.read();
  }

  at(place: number): Promise<Task> {
    const { file, index } = this.find(place);
    return file.at(index);
  }

  where(place: number): string {
    const { file, index } = this.find(place);
    return file.where(index);
  }

  async close(): Promise<void> {
    await Promise.all(this.files.map((file) => file.close()));
  }

  private find(place: number): { file: TaskFile; index: number } {
    let index = place;
    for (const file of this.files) {
      if (index < file.length) return { file, index };
      index -= file.length;
    }
    throw new RangeError(`there is no task ${place}`);
  }
}
