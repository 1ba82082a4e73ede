import { readFileSync } from 'node:fs';
import { descendants } from '@ui-rl/testkit';

/** Linux counts processor time in ticks of 10 ms. */
const TICK_MS = 10;

/** Processor time in ms of this process and all it has started, those that have ended included. 0 where there is no /proc. */
export function processorMs(): number {
  const pids = [process.pid, ...descendants(process.pid).map(({ pid }) => pid)];
  return TICK_MS * pids.reduce((sum, pid) => sum + ticksOf(pid), 0);
}

/** Its own, and that of its children it has waited for. */
function ticksOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    return 0;
  }
}
