import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** By what we know our boxes again. */
const LABELS = { owner: 'ui-rl', host: 'ui-rl-host', process: 'ui-rl-process' } as const;
const OWNER = 'env';
/** Of this process; another one may have its number later. */
const NONCE = randomUUID().slice(0, 8);
const HOST = hostname().toLowerCase();

export type Labels = Readonly<Record<string, string>>;

/** Labels of the boxes of this process. */
export function ownLabels(): Labels {
  return { [LABELS.owner]: OWNER, [LABELS.host]: HOST, [LABELS.process]: `${process.pid}-${NONCE}` };
}

/** Labels by which the boxes of all our processes on this host are found. */
export function hostLabels(): Labels {
  return { [LABELS.owner]: OWNER, [LABELS.host]: HOST };
}

/** Whether a box is of this process. */
export function isOwn(labels: Labels): boolean {
  return isOfHost(labels) && labels[LABELS.process] === `${process.pid}-${NONCE}`;
}

/** Whether the process that a box belonged to was one of ours on this host, and is no more. */
export function isStale(labels: Labels, isAlive: (pid: number) => boolean = alive): boolean {
  if (!isOfHost(labels)) return false;
  const [, pid] = /^(\d+)-[0-9a-f]{8}$/.exec(labels[LABELS.process] ?? '') ?? [];
  if (pid === undefined || isOwn(labels)) return false;
  return Number(pid) === process.pid || !isAlive(Number(pid));
}

function isOfHost(labels: Labels): boolean {
  return labels[LABELS.owner] === OWNER && labels[LABELS.host] === HOST;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
