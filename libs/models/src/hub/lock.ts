import { mkdir, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { claimFile, DEADLINES } from '@ui-rl/retry';

export interface LockOptions {
  /** called once when another process has the lock */
  onWait?: () => void;
  signal?: AbortSignal;
  /** time in ms without renewal after which a lock is taken over. Default `DEADLINES.hubLock` */
  staleMs?: number;
  pollMs?: number;
}

/** Whether the process that holds a lock has certainly ended. */
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

/**
 * Runs work with an exclusive lock on a file across processes. A killed process blocks others for at most `staleMs`.
 */
export async function withLock<T>(
  file: string,
  work: () => Promise<T>,
  options: LockOptions = {},
): Promise<T> {
  const { onWait, signal, staleMs = DEADLINES.hubLock.ms, pollMs = 200 } = options;
  await mkdir(dirname(file), { recursive: true });
  const claim = () =>
    claimFile(
      file,
      `${hostname()} ${process.pid}`,
      (owner, renewedMs) => Date.now() - renewedMs >= staleMs || isGone(owner),
    );
  let claimed = await claim();
  if (claimed.holder !== undefined) onWait?.();
  while (claimed.holder !== undefined) {
    await sleep(pollMs, undefined, { signal });
    claimed = await claim();
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
    await claimed.release();
  }
}
