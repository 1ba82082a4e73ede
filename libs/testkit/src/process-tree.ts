import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessInfo {
  pid: number;
  parent: number;
  /** Including its arguments. */
  command: string;
}

/** All descendants of a process through living parents, without zombies. */
export function descendants(ancestor: number): ProcessInfo[] {
  const all = processes();
  const found: ProcessInfo[] = [];
  for (let parents = [ancestor]; parents.length > 0;) {
    const children = all.filter(({ parent }) => parents.includes(parent));
    found.push(...children);
    parents = children.map(({ pid }) => pid);
  }
  return found;
}

/** The given processes that still run. */
export function running(pids: readonly number[]): number[] {
  const found = new Set(processes().map(({ pid }) => pid));
  return pids.filter((pid) => found.has(pid));
}

/** Processes whose command line contains a text. */
export function processesNaming(text: string): ProcessInfo[] {
  return processes().filter(({ command }) => command.includes(text));
}

/** All processes except zombies. */
function processes(): ProcessInfo[] {
  return process.platform === 'linux' ? processesInProc() : processesByPs();
}

function processesInProc(): ProcessInfo[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid): ProcessInfo[] => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z') return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(pid), parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

function processesByPs(): ProcessInfo[] {
  const lines = execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' });
  return [...lines.matchAll(/^\s*(\d+)\s+(\d+)\s+([^Z\s]\S*)\s+(.*)$/gm)].map(
    ([, pid, parent, , command]) => ({
      pid: Number(pid),
      parent: Number(parent),
      command,
    }),
  );
}
