import { domainToASCII, domainToUnicode } from 'node:url';
import { compare, type CheckOperator } from '@ui-rl/plugin-kit';

/** URL of Chromium's own error page, shown when a page could not be loaded. */
const NOWHERE = /^chrome-error:/;
const NEGATIVES: Partial<Record<CheckOperator, CheckOperator>> = {
  not_equals: 'equals',
  not_contains: 'contains',
};

/**
 * Compares two addresses after normalization: percent-encoding, upper-case scheme or host, the default port, and an
 * empty query or fragment make no difference.
 */
export function compareAddress(operator: CheckOperator, shown: string, wanted: string): boolean {
  if (NOWHERE.test(shown)) return false;
  const positive = NEGATIVES[operator];
  if (positive !== undefined) return !compareAddress(positive, shown, wanted);
  if (operator === 'equals') return decoded(canonical(shown)) === decoded(canonical(wanted));
  const pattern = decoded(operator === 'matches' ? canonicalPattern(wanted) : withCanonicalHost(wanted));
  return spellings(shown).some((spelling) => compare(operator, decoded(spelling), pattern));
}

/**
 * The URL as browsers serialize it, without an empty query or fragment. Text that is not a URL is returned unchanged.
 */
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

/** A pattern without `*` is a complete address. */
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

/** Decodes percent-encoding, except for characters whose decoded form would change the meaning. */
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
