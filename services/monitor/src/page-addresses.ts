import { hostname, networkInterfaces } from 'node:os';

export interface ListensAt {
  host: string;
  port: number;
  /** What its operator says it is reached by. */
  publicUrl?: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** The addresses that a page may have for those who want to read it, the likeliest to be right first. */
export function pageAddresses({ host, port, publicUrl }: ListensAt): string[] {
  const own = hostsOf(host).map((each) => `http://${each.includes(':') ? `[${each}]` : each}:${port}`);
  return publicUrl === undefined ? own : [publicUrl.replace(/\/+$/, ''), ...own];
}

/** A page that listens everywhere is on this machine, and wherever its machine is found. */
function hostsOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outer = addresses.filter(({ internal, family }) => !internal && family === 'IPv4');
  return ['127.0.0.1', hostname(), ...outer.map(({ address }) => address)];
}

/** Where the page shows a run. */
export function runPath(runId: string): string {
  return `/#/runs/${encodeURIComponent(runId)}`;
}

/** Whether nobody on another machine can read the page. */
export function isForThisMachineOnly({ host, publicUrl }: ListensAt): boolean {
  return isLoopback(host) && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname));
}
