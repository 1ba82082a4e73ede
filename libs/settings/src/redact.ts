import { describeOptions, soundsSecret, withoutSecrets, type ComponentRegistry } from '@ui-rl/plugin-kit';

/** Like `withoutSecrets` for a run file; also hides options that the run file or components declare as secret. */
export function redactRunFile<T>(run: T, registry: ComponentRegistry): T {
  const options = registry.all().flatMap(({ component }) => describeOptions(registry.optionsOf(component)));
  const declared = new Set(options.filter(({ secret }) => secret === true).map(({ name }) => name));
  return withoutSecrets(run, (key, value) => declared.has(key) || soundsSecret(key, value)) as T;
}
