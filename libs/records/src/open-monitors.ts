import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunId } from '@ui-rl/contracts';
import { isAlive } from '@ui-rl/settings';

/** A monitor of this machine that has an embedded database open. */
export interface OpenMonitor {
  /** Process id. */
  pid: number;
  /** Address of its page. */
  url: string;
  /** Whether it records runs, or only shows them. */
  records: boolean;
  /** The only run that it records; undefined: any run of its broker. */
  run?: string;
}

/** Announces a monitor to others over the same database, by a file `<database>.monitors/<pid>.<id>.json`. */
export class MonitorAnnouncement {
  private constructor(
    private readonly dataDir: string,
    private readonly file: string,
  ) {}

  static async publish(dataDir: string, monitor: OpenMonitor): Promise<MonitorAnnouncement> {
    const folder = folderOf(dataDir);
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${monitor.pid}.${randomUUID().slice(0, 8)}.json`);
    await writeFile(file, JSON.stringify(monitor));
    return new MonitorAnnouncement(dataDir, file);
  }

  /** Tells the others that this one has changed records. */
  async changed(): Promise<void> {
    const now = new Date();
    await utimes(this.file, now, now).catch(() => undefined);
  }

  /** When another monitor last changed records, in Unix milliseconds; 0 if none did. */
  async othersChangedMs(): Promise<number> {
    const folder = folderOf(this.dataDir);
    const files = (await readdir(folder).catch(() => [])).map((name) => join(folder, name));
    const others = files.filter((file) => file !== this.file);
    const times = await Promise.all(others.map((file) => stat(file).catch(() => null)));
    return Math.max(0, ...times.map((found) => found?.mtimeMs ?? 0));
  }

  async withdraw(): Promise<void> {
    await rm(this.file, { force: true });
  }
}

/** The announced monitors whose processes live; removes the announcements of others. */
export async function openMonitors(dataDir: string): Promise<OpenMonitor[]> {
  const folder = folderOf(dataDir);
  const monitors: OpenMonitor[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    const monitor = await read(file);
    if (monitor !== null && isAlive(monitor.pid)) monitors.push(monitor);
    else if (!isAlive(Number.parseInt(name, 10))) await rm(file, { force: true });
  }
  return monitors;
}

/** Null if the file is not, or not yet, an announcement. */
async function read(file: string): Promise<OpenMonitor | null> {
  try {
    const { pid, url, records, run } = JSON.parse(await readFile(file, 'utf8')) as Partial<OpenMonitor>;
    if (typeof pid !== 'number' || typeof url !== 'string' || !/^http:\/\/\S+$/.test(url)) return null;
    return { pid, url, records: records === true, ...(run !== undefined && isRunId(run) ? { run } : {}) };
  } catch {
    return null;
  }
}

function folderOf(dataDir: string): string {
  return `${dataDir}.monitors`;
}
