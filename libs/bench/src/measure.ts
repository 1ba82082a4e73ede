import { readdirSync, readFileSync } from 'node:fs';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Milliseconds that work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/**
 * Runs things in turn, `rounds` times, so that whatever slows the machine meets all of them alike.
 * @returns what each gave, one list per thing
 */
export async function alternate(
  rounds: number,
  things: readonly (() => Promise<number>)[],
): Promise<number[][]> {
  const results: number[][] = things.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, thing] of things.entries()) results[index].push(await thing());
  }
  return results;
}

/** Median over the rounds of one thing divided by another. */
export function medianRatio(above: readonly number[], below: readonly number[]): number {
  return median(above.map((value, round) => value / below[round]));
}

/** Highest resident set so far of this process, bytes. */
export function ownPeakRss(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Highest resident set so far of another process, bytes; 0 where the system has no /proc. */
export function peakRssOf(pid: number | undefined): number {
  return pid === undefined ? 0 : statusOf(pid, 'VmHWM') * 1024;
}

/**
 * Memory that all processes below one hold now, bytes: what they share is divided among them. 0 where the system has no
 * /proc.
 */
export function memoryBelow(ancestor: number): number {
  const parents = new Map(processIds().map((pid) => [pid, statusOf(pid, 'PPid')]));
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = parents.get(pid); at !== undefined && at > 1; at = parents.get(at)) {
      if (at === ancestor) return true;
    }
    return false;
  };
  return [...parents.keys()].filter(isBelow).reduce((sum, pid) => sum + proportionalShare(pid), 0);
}

function proportionalShare(pid: number): number {
  return numberIn(`/proc/${pid}/smaps_rollup`, 'Pss') * 1024;
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function statusOf(pid: number, field: string): number {
  return numberIn(`/proc/${pid}/status`, field);
}

/** A number behind its name in a file of /proc; 0 where the process is gone. */
function numberIn(file: string, field: string): number {
  try {
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
