import { createReadStream } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { PluginError, type StoredTasks, type Task, type TaskEntries } from '@ui-rl/plugin-kit';
import { FORMATS, formatOf, type Format } from './formats';

/** Bytes per read; with the parsed objects, this bounds the memory for reading a file of any size. */
const CHUNK_BYTES = 2 ** 18;

/** The tasks of a file. For formats with one task per line, memory holds only the position of each line. */
export class TaskFile implements StoredTasks {
  /** Tasks of files that are kept in memory. */
  private readonly tasks: Task[] = [];
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly lines: number[] = [];

  private constructor(
    readonly path: string,
    private readonly format: Format,
    private readonly handle: FileHandle,
    private readonly entries: TaskEntries,
  ) {}

  /** @throws PluginError `option` for a file that cannot be read, or with an unknown extension */
  static async open(path: string, entries: TaskEntries): Promise<TaskFile> {
    const format = formatOf(path);
    if (format === undefined) {
      const endings = FORMATS.flatMap((each) => each.endings).join(', ');
      throw new PluginError(
        'option',
        `tasks: ${path} is of no format that is known by its ending: ${endings}`,
      );
    }
    try {
      if (!(await stat(path)).isFile()) throw new Error('it is not a file');
      return new TaskFile(path, format, await open(path), entries);
    } catch (cause) {
      throw new PluginError('option', `tasks: ${path} cannot be read: ${(cause as Error).message}`, {
        cause,
      });
    }
  }

  /** Number of tasks that `read` accepted. */
  get length(): number {
    return this.lines.length;
  }

  async *read(): AsyncGenerator<Task[]> {
    const chunks = createReadStream(this.path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
    for await (const raw of this.format.read(chunks, this.path)) {
      const tasks: Task[] = [];
      for (const { value, from, to, line } of raw) {
        tasks.push(this.entries.read(value, this.whereAt(line)));
        this.lines.push(line);
        if (this.format.again === undefined) {
          this.tasks.push(tasks.at(-1)!);
          continue;
        }
        this.from.push(from);
        this.to.push(to);
      }
      yield tasks;
    }
    if (this.length === 0) throw new PluginError('option', `tasks: ${this.path} holds no task`);
  }

  async at(place: number): Promise<Task> {
    if (this.format.again === undefined) return this.tasks[place];
    const size = this.to[place] - this.from[place];
    const { buffer, bytesRead } = await this.handle.read(Buffer.alloc(size), 0, size, this.from[place]);
    const where = this.where(place);
    if (bytesRead < size)
      throw new PluginError('option', `tasks: ${where} is not there any more: the file was changed`);
    return this.entries.read(this.format.again(buffer, where), where);
  }

  where(place: number): string {
    return this.whereAt(this.lines[place]);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private whereAt(line: number): string {
    return `${this.path}, ${this.format.counted} ${line}`;
  }
}
