import { readFileSync } from 'node:fs';
import { descendants } from '@ui-rl/testkit';

/** Linux counts CPU time in ticks of 10 ms. */
const TICK_MS = 10;

/** CPU time in ms of this process and all its descendants, including ended ones. 0 without /proc. */
export function processorMs(): number {
  const pids = [process.pid, ...descendants(process.pid).map(({ pid }) => pid)];
  return TICK_MS * pids.reduce((sum, pid) => sum + ticksOf(pid), 0);
}

/** CPU time of a process, and of the children it has waited for. */
function ticksOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    return 0;
  }
}
