import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEADLINES } from '@ui-rl/retry';

export interface LockOptions {
  /** called once when another process has the lock */
  onWait?: () => void;
  signal?: AbortSignal;
  /** a lock that was not renewed for so long is taken from its owner. Default `DEADLINES.hubLock` */
  staleMs?: number;
  pollMs?: number;
}

/** Whether the process that holds a lock is known to be gone. */
function isGone(owner: string): boolean {
  const [host, pid] = owner.split(' ');
  if (host !== hostname() || !/^\d+$/.test(pid ?? '')) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

async function tryCreate(file: string): Promise<boolean> {
  try {
    const handle = await open(file, 'wx');
    await handle.writeFile(`${hostname()} ${process.pid}`);
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a lock whose owner is gone. Renamed first, so that of two processes that see it only one removes it. */
async function removeStale(file: string, staleMs: number): Promise<void> {
  const [found, owner] = await Promise.all([
    stat(file).catch(() => undefined),
    readFile(file, 'utf8').catch(() => ''),
  ]);
  if (found === undefined) return;
  if (Date.now() - found.mtimeMs < staleMs && !isGone(owner)) return;
  const stale = `${file}.${randomUUID()}.stale`;
  await rename(file, stale).catch(() => undefined);
  await rm(stale, { force: true });
}

/**
 * Runs work while no other process that asks for the same file does. A process that was killed holds up others for the time
 * of `staleMs` at most.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const { onWait, signal, staleMs = DEADLINES.hubLock.ms, pollMs = 200 } = options;
  await mkdir(dirname(file), { recursive: true });
  let waited = false;
  while (!(await tryCreate(file))) {
    if (!waited) onWait?.();
    waited = true;
    await removeStale(file, staleMs);
    await sleep(pollMs, undefined, { signal });
  }
  const renewal = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => undefined);
  }, staleMs / 4);
  renewal.unref();
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await rm(file, { force: true });
  }
}
