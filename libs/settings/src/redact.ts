import {
  describeOptions,
  soundsSecret,
  withoutSecrets,
  withoutUrlSecrets,
  type ComponentRegistry,
} from '@ui-rl/plugin-kit';

/** A copy for logs and records: hides values with names that suggest a secret, and passwords within URLs. */
export function redact<T>(value: T): T {
  return withoutSecrets(value) as T;
}

/** Like `redact` for a run file; also hides options that the run file or components declare as secret. */
export function redactRunFile<T>(run: T, registry: ComponentRegistry): T {
  const options = registry.all().flatMap(({ component }) => describeOptions(registry.optionsOf(component)));
  const declared = new Set(options.filter(({ secret }) => secret === true).map(({ name }) => name));
  return withoutSecrets(run, (key, value) => declared.has(key) || soundsSecret(key, value)) as T;
}

/** Hides the password of a URL. */
export function redactUrl(text: string): string {
  return withoutUrlSecrets(text);
}
