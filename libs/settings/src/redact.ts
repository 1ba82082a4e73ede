import {
  describeOptions,
  soundsSecret,
  withoutSecrets,
  withoutUrlSecrets,
  type ComponentRegistry,
} from '@ui-rl/plugin-kit';

/** A copy for logs and records: values under names that sound secret, and passwords within URLs, are hidden. */
export function redact<T>(value: T): T {
  return withoutSecrets(value) as T;
}

/** The same of a run file; hidden is also what its options, or those of components, declare as secret. */
export function redactRunFile<T>(run: T, registry: ComponentRegistry): T {
  const options = registry.all().flatMap(({ component }) => describeOptions(registry.optionsOf(component)));
  const declared = new Set(options.filter(({ secret }) => secret === true).map(({ name }) => name));
  return withoutSecrets(run, (key, value) => declared.has(key) || soundsSecret(key, value)) as T;
}

/** Hides the password of a URL. */
export function redactUrl(text: string): string {
  return withoutUrlSecrets(text);
}
