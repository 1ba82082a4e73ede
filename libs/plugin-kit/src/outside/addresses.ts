import { lookup } from 'node:dns';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';

/** Addresses of the link itself, where clouds keep credentials: no run file leads there. */
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet('169.254.0.0', 16);
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6');
LINK_LOCAL.addAddress('fd00:ec2::254', 'ipv6');
LINK_LOCAL.addAddress('168.63.129.16');
LINK_LOCAL.addAddress('100.100.100.200');

/** What is to be written as the address of a server: http or https, a path where it is not at the root, nothing behind that. */
export function isServerAddress(value: unknown): value is string {
  return (
    typeof value === 'string' && /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(value) && URL.canParse(value)
  );
}

/** As it is compared and shown: no slash at the end. */
export function serverAddress(text: string): string {
  return new URL(text).href.replace(/\/+$/, '');
}

/** Addresses that are written one after the other, separated by commas; others than `isServerAddress` allows are told apart. */
export function readAddresses(text: string | undefined): { addresses: string[]; wrong: string[] } {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  const named = entries.filter((entry) => entry !== '');
  return {
    addresses: named.filter(isServerAddress).map(serverAddress),
    wrong: named.filter((entry) => !isServerAddress(entry)),
  };
}

/** Keys by origin, of `http://host:port=key, …`: each goes to its own server only. Null where it is written in another way. */
export function readServerKeys(text: string | undefined): Record<string, string> | null {
  const keys: Record<string, string> = {};
  for (const entry of (text ?? '').split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [, address, key] = /^(https?:\/\/[^/=\s]+)=([\x21-\x7e]+)$/.exec(entry) ?? [];
    if (address === undefined || !URL.canParse(address)) return null;
    keys[new URL(address).origin] = key;
  }
  return keys;
}

export function isLinkLocal(address: string): boolean {
  return LINK_LOCAL.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Resolves a name as connections do, and refuses one that leads to the link itself. */
export const lookupBeyondLink: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, '', 0);
    const reachable = found.filter(({ address }) => !isLinkLocal(address));
    if (reachable.length === 0) {
      return done(
        new Error(`${host} leads to ${found[0]?.address ?? 'nowhere'}, which no run may name`),
        '',
        0,
      );
    }
    if (options.all === true) return done(null, reachable);
    return done(null, reachable[0].address, reachable[0].family);
  });
};
