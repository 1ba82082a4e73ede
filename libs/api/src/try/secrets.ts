const SECRET_KEY =
  /token|auth|session|secret|jwt|csrf|xsrf|password|passwd|credential|api[-_]?key|(^|[-_.])sid($|[-_.])/i;
const JWT = /^[\w-]{8,}\.[\w-]{8,}\.[\w-]*$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Shorter ones are words that stand everywhere. */
const SHORTEST_SECRET = 3;
/** Bits per character from which a long text without spaces is nothing that a person would write. */
const RANDOM_BITS = 3.3;

export const MASKED = '••••';

/** Whether something that is stored may let somebody in who finds it. */
export function looksLikeToken(key: string, value: string): boolean {
  if (SECRET_KEY.test(key) || JWT.test(value) || UUID.test(value)) return true;
  return (
    value.length >= 20 && /^[\w+/=.~-]+$/.test(value) && /\d/.test(value) && bitsOf(value) >= RANDOM_BITS
  );
}

/** Shannon's entropy of its characters. */
function bitsOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce(
    (bits, count) => bits - (count / text.length) * Math.log2(count / text.length),
    0,
  );
}

/** What was typed where nobody may read it: it is taken out of everything that leaves the process. */
export class Secrets {
  private readonly known = new Set<string>();

  add(text: string): void {
    if (text.length >= SHORTEST_SECRET) this.known.add(text);
  }

  isIn(value: unknown): boolean {
    const json = JSON.stringify(value) ?? '';
    return [...this.known].some((secret) => json.includes(escaped(secret)));
  }

  /** The same value without them. */
  mask<T>(value: T): T {
    if (this.known.size === 0 || value === undefined) return value;
    const json = [...this.known].reduce(
      (text, secret) => text.replaceAll(escaped(secret), MASKED),
      JSON.stringify(value),
    );
    return JSON.parse(json) as T;
  }
}

/** As it stands within JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
