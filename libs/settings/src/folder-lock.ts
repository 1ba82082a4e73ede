import { claimFile } from '@ui-rl/retry';

/** Another process, or another part of this one, uses the folder. */
export class FolderInUseError extends Error {
  constructor(owner: string, file: string) {
    super(`process ${owner} has it open: stop that one first (its lock is ${file})`);
    this.name = 'FolderInUseError';
  }
}

/**
 * Locks the data folder of a database or a broker: two processes over one folder would corrupt it. Takes over a lock
 * whose process has ended, for example after a crash. Returns a function that releases it.
 *
 * @throws FolderInUseError that names the process with the lock
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = `${folder}.lock`;
  const claimed = await claimFile(file, String(process.pid), isGone);
  if (claimed.holder !== undefined) throw new FolderInUseError(claimed.holder, file);
  return claimed.release;
}

/** In a container, this process may have the process id of its predecessor. */
function isGone(owner: string): boolean {
  const pid = Number(owner);
  return pid === process.pid || !isAlive(pid);
}

/** Whether a process of this machine lives. */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
