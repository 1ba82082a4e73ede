import { domainToASCII, domainToUnicode } from 'node:url';
import { compare, type CheckOperator } from '@ui-rl/plugin-kit';

/** A page that could not be loaded: what is shown there is the browser's. */
const NOWHERE = /^chrome-error:/;
const NEGATIVES: Partial<Record<CheckOperator, CheckOperator>> = {
  not_equals: 'equals',
  not_contains: 'contains',
};

/**
 * Whether an address is as a check wants it, however both are written: letters may be encoded or not, scheme and host in capitals, the port of the
 * scheme named; an empty query or fragment says nothing.
 */
export function compareAddress(operator: CheckOperator, shown: string, wanted: string): boolean {
  if (NOWHERE.test(shown)) return false;
  const positive = NEGATIVES[operator];
  if (positive !== undefined) return !compareAddress(positive, shown, wanted);
  if (operator === 'equals') return decoded(canonical(shown)) === decoded(canonical(wanted));
  const pattern = decoded(operator === 'matches' ? canonicalPattern(wanted) : withCanonicalHost(wanted));
  return spellings(shown).some((spelling) => compare(operator, decoded(spelling), pattern));
}

/** As browsers write it, without an empty query or fragment; what is no address stays as it is. */
function canonical(address: string): string {
  if (!URL.canParse(address)) return address;
  const { protocol, host, pathname, search, hash, href } = new URL(address);
  return /^https?:$/.test(protocol) ? `${protocol}//${host}${pathname}${search}${hash}` : href;
}

function spellings(shown: string): string[] {
  const plain = canonical(shown);
  const inUnicode = plain.replace(/(?<=^https?:\/\/)[^/:]+/, (host) => domainToUnicode(host));
  return [shown, plain, inUnicode];
}

/** One without a `*` is a whole address. */
function canonicalPattern(pattern: string): string {
  return pattern.includes('*') ? withCanonicalHost(pattern) : canonical(pattern);
}

function withCanonicalHost(part: string): string {
  return part.replace(/^(https?):\/\/([^/?#]*)/i, (_, scheme: string, host: string) => {
    const port = scheme.toLowerCase() === 'http' ? /:80$/ : /:443$/;
    const named = host.toLowerCase().replace(port, '');
    const [, name, rest] = /^([^:*]*)(.*)$/.exec(named)!;
    return `${scheme.toLowerCase()}://${domainToASCII(name) || name}${rest}`;
  });
}

/** With the letters that it encodes, but for those that would mean something else. */
function decoded(address: string): string {
  return address
    .replace(/(?:%[0-9a-f]{2})+/gi, (letters) => {
      try {
        return decodeURI(letters);
      } catch {
        return letters;
      }
    })
    .replace(/%[0-9a-f]{2}/gi, (letter) => letter.toUpperCase())
    .normalize('NFC');
}
