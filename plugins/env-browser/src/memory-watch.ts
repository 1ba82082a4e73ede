import { readdirSync, readFileSync } from 'node:fs';

/** A page fills memory at 1 to 2 GiB per second. */
const EVERY_MS = 250;

/** Memory of a process that no file stands behind. */
interface Used {
  pid: number;
  bytes: number;
}

/**
 * Keeps a browser below a limit as the kernel would: when all its processes together have more, the largest is killed,
 * which is the page that grew, and not its neighbours. Linux only: elsewhere there is no `/proc` to read, and the limit is
 * that of the JavaScript heap.
 *
 * Not a control group: those are read-only in containers, belong to systemd elsewhere, and need a parent without processes.
 * Returns how to end it.
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

/** Memory of a browser, process by process. Empty where it is gone or there is no `/proc`. */
export function memoryOf(pid: number): Used[] {
  // Any thread of the main process starts others; those that they start in turn have one thread that does.
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

/** Processes end while one reads of them. */
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
