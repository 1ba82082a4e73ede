import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Process ids of all that descends from a process, by way of parents that live. */
export function descendants(ancestor: number): number[] {
  const parents = [...parentsByProcess()];
  const found = [ancestor];
  for (const parent of found) {
    found.push(...parents.filter(([, ppid]) => ppid === parent).map(([pid]) => pid));
  }
  return found.slice(1);
}

/** Those of some processes that have not ended. */
export function running(pids: readonly number[]): number[] {
  const parents = parentsByProcess();
  return pids.filter((pid) => parents.has(pid));
}

/** The parent of every process that is no zombie. */
function parentsByProcess(): Map<number, number> {
  return new Map(process.platform === 'linux' ? parentsInProc() : parentsByPs());
}

function parentsInProc(): [number, number][] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid): [number, number][] => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return state === 'Z' ? [] : [[Number(pid), Number(parent)]];
    } catch {
      return [];
    }
  });
}

function parentsByPs(): [number, number][] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => !state.startsWith('Z'))
    .map(([pid, parent]) => [Number(pid), Number(parent)]);
}
