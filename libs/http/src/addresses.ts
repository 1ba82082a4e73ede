import { lookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';

/** IPv4 link-local and other addresses at which clouds serve credentials: networks and their prefixes. */
const LINK_LOCAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['169.254.0.0', 16],
  ['168.63.129.16', 32], // Azure
  ['100.100.100.200', 32], // Alibaba Cloud
];
const LINK_LOCAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['fe80::', 10],
  ['fd00:ec2::254', 128], // AWS
  ['fd20:ce::254', 128], // Google Cloud
];
/**
 * IPv6 forms that embed an IPv4 address, given as two groups, and the bit at which it starts. `BlockList` handles
 * `::ffff:0:0/96`.
 */
const EMBEDDING: readonly (readonly [form: (ipv4: string) => string, bit: number])[] = [
  [(ipv4) => `::${ipv4}`, 96], // IPv4-compatible (RFC 4291, 2.5.5.1)
  [(ipv4) => `::ffff:0:${ipv4}`, 96], // IPv4-translated (RFC 2765)
  [(ipv4) => `64:ff9b::${ipv4}`, 96], // NAT64 (RFC 6052)
  [(ipv4) => `64:ff9b:1::${ipv4}`, 96], // local NAT64 (RFC 8215)
  [(ipv4) => `2002:${ipv4}::`, 16], // 6to4 (RFC 3056)
];

const linkLocal = blockList();

/**
 * Whether an IP address is link-local or a cloud metadata address, including IPv6 addresses that embed an IPv4 one.
 */
export function isLinkLocal(address: string): boolean {
  return linkLocal.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** A lookup for sockets that fails if a name resolves only to link-local addresses. */
export const lookupBeyondLink: LookupFunction = lookupWith(lookup);

/** {@link lookupBeyondLink} with another resolver. */
export function lookupWith(resolve: typeof lookup): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, '', 0);
      const reachable = found.filter(({ address }) => !isLinkLocal(address));
      if (reachable.length === 0) {
        return done(
          new Error(`${host} resolves to ${found[0]?.address ?? 'nothing'}, a link-local address`),
          '',
          0,
        );
      }
      if (options.all === true) return done(null, reachable);
      return done(null, reachable[0].address, reachable[0].family);
    });
  };
}

/** Whether a host, as written in a URL or used by a socket, is a link-local IP address; false for names. */
export function isLinkLocalHost(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(address) !== 0 && isLinkLocal(address);
}

function blockList(): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of LINK_LOCAL_IPV6) list.addSubnet(network, prefix, 'ipv6');
  for (const [network, prefix] of LINK_LOCAL_IPV4) {
    list.addSubnet(network, prefix);
    for (const [form, bit] of EMBEDDING) list.addSubnet(form(groupsOf(network)), bit + prefix, 'ipv6');
  }
  return list;
}

/** An IPv4 address as two groups of an IPv6 address: `a9fe:a9fe`. */
function groupsOf(ipv4: string): string {
  const [a, b, c, d] = ipv4.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(':');
}
