import { hostname, networkInterfaces } from 'node:os';

export interface ListensAt {
  host: string;
  port: number;
  /** The address that its operator configured. */
  publicUrl?: string;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i;

export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** The possible addresses of a page for readers, the likeliest first. */
export function pageAddresses({ host, port, publicUrl }: ListensAt): string[] {
  const own = hostsOf(host).map((each) => `http://${each.includes(':') ? `[${each}]` : each}:${port}`);
  return publicUrl === undefined ? own : [publicUrl.replace(/\/+$/, ''), ...own];
}

/** A page that listens on all interfaces is reachable on this machine, and under all of the machine's addresses. */
function hostsOf(host: string): string[] {
  if (host !== '0.0.0.0' && host !== '::') return [host];
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const outer = addresses.filter(({ internal, family }) => !internal && family === 'IPv4');
  return ['127.0.0.1', hostname(), ...outer.map(({ address }) => address)];
}

/** Path of a run's page. */
export function runPath(runId: string): string {
  return `/#/runs/${encodeURIComponent(runId)}`;
}

/** Whether only this machine can read the page. */
export function isForThisMachineOnly({ host, publicUrl }: ListensAt): boolean {
  return isLoopback(host) && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname));
}
