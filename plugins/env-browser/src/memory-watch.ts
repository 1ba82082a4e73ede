import { readdirSync, readFileSync } from 'node:fs';

/** A page can allocate 1 to 2 GiB per second. */
const EVERY_MS = 250;

/** Anonymous memory of a process. */
interface Used {
  pid: number;
  bytes: number;
}

/**
 * Enforces a browser's memory limit as the kernel's OOM killer would: when all its processes together exceed it, the
 * largest is killed, which is the page that grew and not its neighbors. Linux only: other systems have no `/proc`, so
 * only the JavaScript heap is limited there.
 *
 * Control groups are not an option: they are read-only in containers, belong to systemd elsewhere, and need a parent
 * without processes. Returns a function that stops the watch.
 */
export function watchMemory(
  pid: number,
  limitBytes: number,
  onKill: (killed: Used, totalBytes: number) => void,
): () => void {
  const timer = setInterval(() => {
    const used = memoryOf(pid);
    const total = used.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= limitBytes) return;
    const largest = used.reduce((most, each) => (each.bytes > most.bytes ? each : most));
    if (kill(largest.pid)) onKill(largest, total);
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Memory of a browser by process. Empty if it has exited or there is no `/proc`. */
export function memoryOf(pid: number): Used[] {
  // Any thread of the main process may start processes; those processes start others from a single thread.
  const found = [pid, ...threadsOf(pid).flatMap((thread) => childrenOf(pid, thread))];
  for (let index = 1; index < found.length; index++) found.push(...childrenOf(found[index], found[index]));
  return found.map((each) => ({ pid: each, bytes: bytesOf(each) }));
}

function threadsOf(pid: number): number[] {
  return orNone(() => readdirSync(`/proc/${pid}/task`).map(Number));
}

function childrenOf(pid: number, thread: number): number[] {
  return orNone(() => {
    const text = readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  });
}

function bytesOf(pid: number): number {
  const [bytes] = orNone(() => {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return [(kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024];
  });
  return bytes ?? 0;
}

/** Processes may exit while they are read. */
function orNone(read: () => number[]): number[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
