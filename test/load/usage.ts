import { readFileSync } from 'node:fs';
import { descendants } from '@ui-rl/testkit';
import { serviceOf, type TestFleet } from '../e2e/support/fleet';
import { memoryOf } from '../soak/proc';

/** Resource usage of a part of the fleet: CPU seconds since its start, and memory in MB (proportional set size). */
export interface Usage {
  cpu: number;
  memory: number;
}

/** For `/proc/<pid>/stat`: the same on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;

/** By service, `actors`, `broker`, `database`, and `generator`, which is this process. */
export function readUsage(fleet: TestFleet, actors: readonly number[]): Record<string, Usage> {
  const usage: Record<string, Usage> = {};
  const add = (name: string, pid: number): void => {
    const { cpu, memory } = usage[name] ?? { cpu: 0, memory: 0 };
    usage[name] = { cpu: cpu + cpuOf(pid), memory: memory + memoryOf(pid) };
  };
  for (const member of fleet.members) {
    const pid = fleet.pidOf(member);
    for (const each of [pid, ...descendants(pid).map((child) => child.pid)]) add(serviceOf(member), each);
  }
  for (const pid of actors) add('actors', pid);
  for (const { pid, command } of descendants(process.pid)) {
    if (/nats-server/.test(command)) add('broker', pid);
    else if (isDatabase(command)) add('database', pid);
  }
  add('generator', process.pid);
  return usage;
}

/** The processes of the database. */
export function databasePids(): number[] {
  return descendants(process.pid)
    .filter(({ command }) => isDatabase(command))
    .map(({ pid }) => pid);
}

function isDatabase(command: string): boolean {
  return /(^|\/)postgres\b/.test(command);
}

function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}
