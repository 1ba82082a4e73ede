const SECRET = /pass(word)?|token|secret|api_?key|creds|credential/i;
const HIDDEN = '[hidden]';

/** A copy for logs and records: values under names that sound secret, and passwords within URLs, are hidden. */
export function redact<T>(value: T): T {
  return redactValue(value) as T;
}

function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactUrl(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, isSecret(key, part) ? HIDDEN : redactValue(part)]),
  );
}

/** Numbers are limits such as `max_tokens`, not secrets. */
function isSecret(key: string, value: unknown): boolean {
  return typeof value === 'string' && SECRET.test(key);
}

/** Hides the password of a URL. */
export function redactUrl(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/@\s]*)@/i, (_, scheme: string, user: string) => {
    const [name, password] = user.split(':');
    return `${scheme}${password === undefined ? HIDDEN : `${name}:${HIDDEN}`}@`;
  });
}
