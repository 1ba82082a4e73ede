import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface Address {
  address: string;
  family: number;
}

export type Resolve = (host: string) => Promise<Address[]>;

/**
 * Networks outside the public internet (IANA's special-purpose address registries), and cloud metadata services,
 * which hand out credentials.
 */
const PRIVATE: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // Azure's metadata service, although the address looks public
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 96], // this machine, and IPv4-compatible addresses
  ['::ffff:0:0:0', 96], // IPv4-translated
  ['64:ff9b::', 96], // embeds an IPv4 address, as does 2002::/16 below
  ['64:ff9b:1::', 48],
  ['2002::', 16],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

/** Whether an address belongs to this machine or to a network outside the public internet. */
export function isPrivate(address: string): boolean {
  return privateAddresses().check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Whether a host is such an address, or a name that always resolves to one. */
export function isPrivateHost(host: string): boolean {
  if (isIP(host) !== 0) return isPrivate(host);
  return host === 'localhost' || host.endsWith('.localhost');
}

/** The host of an origin, without the brackets of an IPv6 address. */
export function hostOf(origin: string): string {
  return new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1');
}

let known: BlockList | undefined;

function privateAddresses(): BlockList {
  if (known !== undefined) return known;
  known = new BlockList();
  for (const [network, prefix] of PRIVATE)
    known.addSubnet(network, prefix, isIPv6(network) ? 'ipv6' : 'ipv4');
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((each) => each ?? [])) {
    known.addAddress(address, family === 'IPv6' ? 'ipv6' : 'ipv4');
  }
  return known;
}

export const resolveHost: Resolve = (host) => lookup(host, { all: true });
