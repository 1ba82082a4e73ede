import { readFileSync } from 'node:fs';
import { descendants, type ProcessInfo } from '@ui-rl/testkit';

/** The value of Linux on all common machines. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time so far of all processes that this process has started, in seconds: by service, with `browser` and `broker`
 * separately. Ended children count with the parent that waited for them. Needs /proc.
 */
export function processorSeconds(): Record<string, number> {
  const seconds: Record<string, number> = {};
  for (const each of descendants(process.pid)) {
    const name = nameOf(each);
    seconds[name] = (seconds[name] ?? 0) + ticksOf(each.pid) / TICKS_PER_SECOND;
  }
  return seconds;
}

/** CPU time between two readings; a process that ended between them counts as zero. */
export function used(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Record<string, number> {
  const spent = Object.entries(after).map(([name, now]) => [name, Math.max(0, now - (before[name] ?? 0))]);
  return Object.fromEntries(spent) as Record<string, number>;
}

function nameOf({ command }: ProcessInfo): string {
  const service = /services\/([a-z-]+)\/src\/main/.exec(command)?.[1];
  if (service !== undefined) return service;
  if (/nats-server/.test(command)) return 'broker';
  return /chrom/i.test(command) ? 'browser' : 'other';
}

function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // utime, stime, cutime, cstime: fields 14 to 17 of the line, whose third is the first here.
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  } catch {
    return 0;
  }
}
