import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** MB: the proportional set size, which counts shared pages once; nothing for a process that has ended. */
export function memoryOf(pid: number): number {
  const pss = /^Pss:\s+(\d+) kB/m.exec(readOr(`/proc/${pid}/smaps_rollup`))?.[1];
  return Number(pss ?? 0) / 1024;
}

export function openFilesOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Files and folders may disappear during listing. */
export function filesBelow(folder: string): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
