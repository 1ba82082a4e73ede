import { readdirSync, readFileSync } from 'node:fs';
import { ownerIn, type Owner } from './owner';

/** A program can allocate 1 to 2 GiB per second. */
const EVERY_MS = 500;

/** An owner of processes with a memory limit. */
export interface Watched {
  readonly owner: Owner;
  readonly limitBytes: number;
  /** Called when all its processes together exceed the limit. */
  exceeded(largestPid: number, totalBytes: number): void;
}

interface Used {
  total: number;
  most: number;
  largest: number;
}

/**
 * Adds up the memory of the processes of all desktops in one pass over `/proc`.
 *
 * Control groups are not an option: they are read-only in containers, belong to systemd elsewhere, and need a parent
 * without processes.
 */
export class MemoryWatch {
  private readonly watched = new Map<Owner, Watched>();
  private timer: NodeJS.Timeout | null = null;

  add(each: Watched): void {
    this.watched.set(each.owner, each);
    this.timer ??= setInterval(() => this.look(), EVERY_MS).unref();
  }

  remove(each: Watched): void {
    this.watched.delete(each.owner);
    if (this.watched.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private look(): void {
    for (const [owner, { total, largest }] of usedByOwners()) {
      const each = this.watched.get(owner);
      if (each !== undefined && total > each.limitBytes) each.exceeded(largest, total);
    }
  }
}

function usedByOwners(): Map<Owner, Used> {
  const used = new Map<Owner, Used>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const found = look(pid);
    if (found === null) continue;
    const { total = 0, most = 0, largest = 0 } = used.get(found.owner) ?? {};
    const isLargest = found.bytes > most;
    used.set(found.owner, {
      total: total + found.bytes,
      most: isLargest ? found.bytes : most,
      largest: isLargest ? Number(pid) : largest,
    });
  }
  return used;
}

/** The owner of a process and its anonymous memory. Null if it belongs to no desktop or is gone. */
function look(pid: string): { owner: Owner; bytes: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const owner = ownerIn(status, pid);
    const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return owner === null ? null : { owner, bytes: (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1024 };
  } catch {
    return null;
  }
}
