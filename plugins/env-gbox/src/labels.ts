import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** Labels that identify our boxes. */
const LABELS = { owner: 'ui-rl', host: 'ui-rl-host', process: 'ui-rl-process' } as const;
const OWNER = 'env';
/** Open environments of this process; another process may reuse its pid later. */
const OPEN = new Set<string>();
const HOST = hostname().toLowerCase();

export type Labels = Readonly<Record<string, string>>;

/**
 * Labels for the boxes of one environment of this process, which protect them from other environments until
 * `forgetLabels`.
 */
export function newLabels(): Labels {
  const id = `${process.pid}-${randomUUID().slice(0, 8)}`;
  OPEN.add(id);
  return { [LABELS.owner]: OWNER, [LABELS.host]: HOST, [LABELS.process]: id };
}

/** Called when the environment is closed: its remaining boxes may be terminated. */
export function forgetLabels(own: Labels): void {
  OPEN.delete(own[LABELS.process]);
}

/** Labels that match the boxes of all our processes on this host. */
export function hostLabels(): Labels {
  return { [LABELS.owner]: OWNER, [LABELS.host]: HOST };
}

/** Whether a box belongs to the environment with these labels. */
export function isOwn(labels: Labels, own: Labels): boolean {
  return isOfHost(labels) && labels[LABELS.process] === own[LABELS.process];
}

/** Whether a box belongs to an environment of this host that no longer exists. */
export function isStale(labels: Labels): boolean {
  if (!isOfHost(labels)) return false;
  const [id, pid] = /^(\d+)-[0-9a-f]{8}$/.exec(labels[LABELS.process] ?? '') ?? [];
  if (id === undefined || OPEN.has(id)) return false;
  return Number(pid) === process.pid || !isAlive(Number(pid));
}

function isOfHost(labels: Labels): boolean {
  return labels[LABELS.owner] === OWNER && labels[LABELS.host] === HOST;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
