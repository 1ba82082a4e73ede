import { PluginError, readLines, type StoredTasks, type Task, type TaskEntries } from '@ui-rl/plugin-kit';
import { download, type DownloadOptions, type Page } from './download';
import { Spool } from './spool';

/** The tasks of a server, in a temporary file of this process: memory holds only the position of each. */
export class ServedTasks implements StoredTasks {
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly lines: number[] = [];
  private pages: readonly Page[] = [];

  private constructor(
    private readonly spool: Spool,
    private readonly options: DownloadOptions,
    private readonly entries: TaskEntries,
  ) {}

  static async open(options: DownloadOptions, entries: TaskEntries): Promise<ServedTasks> {
    // Reject a forbidden address before creating files.
    options.servers.refuseOthers(options.url);
    return new ServedTasks(await Spool.open(), options, entries);
  }

  async *read(): AsyncGenerator<Task[]> {
    const { url, log } = this.options;
    this.pages = await download(this.spool, this.options);
    for await (const found of readLines(this.spool.chunks(), url.href)) {
      const tasks: Task[] = [];
      for (const { text, from, to, line } of found) {
        if (text.trim() === '') continue;
        tasks.push(this.taskOf(text, line));
        this.from.push(from);
        this.to.push(to);
        this.lines.push(line);
      }
      yield tasks;
    }
    const { length } = this.lines;
    if (length === 0) throw new PluginError('option', `tasks: ${url.href} has no task`);
    const { length: pages } = this.pages;
    log('info', `${length} tasks of ${url.href}${pages === 1 ? '' : `, on ${pages} pages`}`);
  }

  async at(place: number): Promise<Task> {
    const bytes = await this.spool.read(this.from[place], this.to[place]);
    return this.taskOf(bytes.toString('utf8'), this.lines[place]);
  }

  where(place: number): string {
    return this.whereAt(this.lines[place]);
  }

  async close(): Promise<void> {
    await this.spool.close();
  }

  private taskOf(text: string, line: number): Task {
    let entry: unknown;
    try {
      entry = JSON.parse(text) as unknown;
    } catch (cause) {
      throw new PluginError(
        'option',
        `tasks: ${this.whereAt(line)} is not JSON: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
    return this.entries.read(entry, this.whereAt(line));
  }

  private whereAt(line: number): string {
    const { url, counted, firstLine } = this.pages.findLast((page) => page.firstLine <= line)!;
    return `${url}, ${counted} ${line - firstLine + 1}`;
  }
}
