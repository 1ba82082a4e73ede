import { readdirSync, readFileSync } from 'node:fs';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Duration of work in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/**
 * Runs functions in turn, `rounds` times, so that other load on the machine affects all of them alike.
 * @returns the results, one list per function
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

/** Median over the rounds of one result divided by another. */
export function medianRatio(above: readonly number[], below: readonly number[]): number {
  return median(above.map((value, round) => value / below[round]));
}

/** Peak resident set of this process, in bytes. */
export function ownPeakRss(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Memory of this process without mapped files, in bytes; 0 if the system has no /proc. */
export function ownPrivateBytes(): number {
  return statusOf(process.pid, 'RssAnon') * 1024;
}

/** Peak resident set of another process, in bytes; 0 if the system has no /proc. */
export function peakRssOf(pid: number | undefined): number {
  return pid === undefined ? 0 : statusOf(pid, 'VmHWM') * 1024;
}

/**
 * Current memory of all descendants of a process, in bytes: shared memory is divided among its users. 0 if the system
 * has no /proc.
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

/** A number after its name in a /proc file; 0 if the process is gone. */
function numberIn(file: string, field: string): number {
  try {
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
