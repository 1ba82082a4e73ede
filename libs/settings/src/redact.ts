import { describeOptions, type ComponentRegistry } from '@ui-rl/plugin-kit';

const SECRET = /pass(word)?|token|secret|api_?key|creds|credential/i;
const HIDDEN = '[hidden]';

type IsSecret = (key: string, value: unknown) => boolean;

/** A copy for logs and records: values under names that sound secret, and passwords within URLs, are hidden. */
export function redact<T>(value: T): T {
  return redactValue(value, soundsSecret) as T;
}

/** The same of a run file; hidden is also what its options, or those of components, declare as secret. */
export function redactRunFile<T>(run: T, registry: ComponentRegistry): T {
  const options = registry.all().flatMap(({ component }) => describeOptions(registry.optionsOf(component)));
  const declared = new Set(options.filter(({ secret }) => secret === true).map(({ name }) => name));
  return redactValue(run, (key, value) => declared.has(key) || soundsSecret(key, value)) as T;
}

function redactValue(value: unknown, isSecret: IsSecret): unknown {
  if (typeof value === 'string') return redactUrl(value);
  if (Array.isArray(value)) return value.map((part) => redactValue(part, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      isSecret(key, part) ? HIDDEN : redactValue(part, isSecret),
    ]),
  );
}

/** Numbers are limits such as `max_tokens`, not secrets. */
function soundsSecret(key: string, value: unknown): boolean {
  return typeof value === 'string' && SECRET.test(key);
}

/** Hides the password of a URL. */
export function redactUrl(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/@\s]*)@/i, (_, scheme: string, user: string) => {
    const [name, password] = user.split(':');
    return `${scheme}${password === undefined ? HIDDEN : `${name}:${HIDDEN}`}@`;
  });
}
