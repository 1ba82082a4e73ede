import { isRecord } from '@ui-rl/plugin-kit';

const SECRET_KEY =
  /token|auth|session|secret|jwt|csrf|xsrf|password|passwd|credential|api[-_]?key|(^|[-_.])sid($|[-_.])/i;
const JWT = /^[\w-]{8,}\.[\w-]{8,}\.[\w-]*$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Shorter texts occur everywhere. */
const SHORTEST_SECRET = 3;
/** Entropy in bits per character from which a long text without spaces counts as random. */
const RANDOM_BITS = 3.3;

export const MASKED = '••••';

/** Whether a stored value may be a credential. */
export function looksLikeToken(key: string, value: string): boolean {
  if (SECRET_KEY.test(key) || JWT.test(value) || UUID.test(value)) return true;
  return (
    value.length >= 20 && /^[\w+/=.~-]+$/.test(value) && /\d/.test(value) && bitsOf(value) >= RANDOM_BITS
  );
}

/** Shannon entropy per character. */
function bitsOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce(
    (bits, count) => bits - (count / text.length) * Math.log2(count / text.length),
    0,
  );
}

/** The secrets that were typed: masks them in everything that leaves the process. */
export class Secrets {
  /** Whole secrets and parts of them, except those too short to search for within other texts. */
  private readonly known = new Set<string>();
  /** Current or former contents of fields, by field. */
  private readonly held = new Map<string, string>();

  add(text: string): void {
    if (text.length >= SHORTEST_SECRET) this.known.add(text);
  }

  /** @param place of the field that holds it */
  hold(place: string, value: string): void {
    this.add(value);
    if (value !== '') this.held.set(place, value);
  }

  /** Whether a value contains a secret or a part of one. Short secrets match only as whole words. */
  isIn(value: unknown): boolean {
    return hasAny(value, this.known) || this.isWholeIn(value);
  }

  /** Like `isIn`, for whole secrets only, as fields hold them. */
  isWholeIn(value: unknown): boolean {
    const held = new Set(this.held.values());
    const isLong = (each: string) => each.length >= SHORTEST_SECRET;
    return (
      hasAny(value, [...held].filter(isLong)) ||
      leavesOf(value).some((leaf) => !isLong(leaf) && held.has(leaf))
    );
  }

  /** The same value with all secrets masked in its texts. */
  mask<T>(value: T): T {
    return this.known.size === 0 ? value : (this.masked(value) as T);
  }

  private masked(value: unknown): unknown {
    if (typeof value === 'string') {
      // A secret that is part of another one must not leave the rest of it visible.
      const longestFirst = [...this.known].toSorted((a, b) => b.length - a.length);
      return longestFirst.reduce((text, secret) => text.replaceAll(secret, MASKED), value);
    }
    if (Array.isArray(value)) return value.map((each) => this.masked(each));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.masked(each)]));
  }
}

function hasAny(value: unknown, secrets: Iterable<string>): boolean {
  const json = JSON.stringify(value) ?? '';
  return [...secrets].some((secret) => writtenWays(secret).some((way) => json.includes(way)));
}

/** The forms in which it can occur within JSON: plain, within JSON in a string, or in an address. */
function writtenWays(secret: string): string[] {
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [escaped(secret), escaped(escaped(secret)), form, form.replaceAll('+', '%20')];
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Strings and numbers of a value, as strings. */
function leavesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  if (isRecord(value)) return Object.values(value).flatMap(leavesOf);
  return typeof value === 'string' || typeof value === 'number' ? [String(value)] : [];
}
