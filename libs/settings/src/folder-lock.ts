import { claimFile } from '@ui-rl/retry';

/** Another process, or another part of this one, works on the folder. */
export class FolderInUseError extends Error {
  constructor(owner: string, file: string) {
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
  const claimed = await claimFile(file, String(process.pid), isGone);
  if (claimed.holder !== undefined) throw new FolderInUseError(claimed.holder, file);
  return claimed.release;
}

/** In a container the number of this process may be that of its predecessor. */
function isGone(owner: string): boolean {
  const pid = Number(owner);
  return pid === process.pid || !isAlive(pid);
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
