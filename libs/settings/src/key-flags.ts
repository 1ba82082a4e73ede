import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { ENVIRONMENT_VARIABLES } from './environment-variables';
import { settingsError } from './errors';
import { splitFlags } from './flags';

const KEY = /^--([a-z][a-z0-9_-]*[_-]api[_-]keys?|hf[_-]token)(?:=|$)/i;

export interface KeyFlags {
  /** Variable → key, for the environment of services that a command starts. Never store, log or show them. */
  keys: Readonly<Record<string, string>>;
  /** The other flags. */
  flags: string[];
}

/**
 * Extracts API keys from flags: `--gbox_api_key KEY` is GBOX_API_KEY for services that the command starts. They are
 * not part of the run file, which is stored and shown.
 *
 * @throws SettingsError for a key without a value; the message contains no key
 */
export function takeKeys(flags: readonly string[]): KeyFlags {
  const keys: Record<string, string> = {};
  const rest: string[] = [];
  for (let index = 0; index < flags.length; index += 1) {
    const name = KEY.exec(flags[index])?.[1];
    if (name === undefined) {
      rest.push(flags[index]);
      continue;
    }
    const isWhole = flags[index].includes('=');
    const [{ text = '' }] = splitFlags(flags.slice(index, isWhole ? index + 1 : index + 2));
    if (text === '') throw settingsError('missing', `--${name} needs a value`);
    if (!isWhole) index += 1;
    keys[name.replaceAll('-', '_').toUpperCase()] = text;
  }
  return { keys, flags: rest };
}

/** @throws SettingsError that names a key that no component reads */
export function refuseUnreadKeys(keys: Readonly<Record<string, string>>, registry: ComponentRegistry): void {
  const read = new Set(Object.keys(ENVIRONMENT_VARIABLES));
  for (const { component } of registry.all()) {
    if (!('environment' in component)) continue;
    for (const variable of Object.keys(component.environment ?? {})) read.add(variable);
  }
  const unread = Object.keys(keys).find((variable) => !read.has(variable));
  if (unread === undefined) return;
  const known = [...read]
    .filter((variable) => KEY.test(`--${variable}`))
    .map((name) => `--${name.toLowerCase()}`);
  throw settingsError('unknown', `unknown option --${unread.toLowerCase()}: keys are ${known.join(', ')}`);
}

/**
 * Rejects keys for running services, possibly elsewhere: messages must not carry keys.
 *
 * @throws SettingsError
 */
export function refuseKeys(keys: Readonly<Record<string, string>>): void {
  const [variable] = Object.keys(keys);
  if (variable === undefined) return;
  const flag = `--${variable.toLowerCase()}`;
  throw settingsError(
    'unsupported',
    `${flag}: the services of a broker run already, maybe on other machines, and have their keys from their own environment: no key is sent there. ` +
      `Start those of this machine with it: npx ui-rl up ${flag} KEY, or ${variable}=KEY npx ui-rl up. Services that end with the run take it, too: npx ui-rl quickstart --config FILE ${flag} KEY`,
  );
}
