import { readFile, rm, writeFile } from 'node:fs/promises';

/** Locks of this process; in a container its number may be that of its predecessor. */
const held = new Set<string>();

/** Another process, or another part of this one, works on the folder. */
export class FolderInUseError extends Error {
  constructor(owner: number, file: string) {
    super(`process ${owner} has it open: stop that one first (its lock is ${file})`);
    this.name = 'FolderInUseError';
  }
}

/**
 * Keeps other processes away from the data of a database or a broker: two over one folder would destroy it. A lock whose process is
 * gone, as after a crash, is taken over. Returns how to release it.
 *
 * @throws FolderInUseError that names the process which holds it
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  for (let attempt = 0; ; attempt++) {
    try {
      await writeFile(file, String(process.pid), { flag: 'wx' });
      held.add(file);
      return async () => {
        held.delete(file);
        await rm(file, { force: true });
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === 3) throw error;
    }
    const owner = Number(await readFile(file, 'utf8').catch(() => ''));
    if (held.has(file) || (owner !== process.pid && isAlive(owner))) {
      throw new FolderInUseError(owner, file);
    }
    await rm(file, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
