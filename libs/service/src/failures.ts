import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';

/** A run cannot be served here, however often it is tried: it asks for what this host does not have, or what nobody has. */
export class Misconfigured extends Error {
  override readonly name = 'Misconfigured';
}

/** Codes of the system for what passes: no room, no memory, no connection. */
const PASSING_CODES = new Set([
  'EAGAIN',
  'EAI_AGAIN',
  'EBUSY',
  'ECONNREFUSED',
  'ECONNRESET',
  'EDQUOT',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETUNREACH',
  'ENFILE',
  'ENOMEM',
  'ENOSPC',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** An error and what caused it, the outermost first. */
export function* causesOf(error: unknown): Generator {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as Error).cause)
    yield cause;
}

/** Whether a host or the run itself is set up wrongly. */
export function isMisconfiguration(error: unknown): boolean {
  return [...causesOf(error)].some(
    (cause) =>
      cause instanceof PluginError || cause instanceof SettingsError || cause instanceof Misconfigured,
  );
}

/** Whether it is over without anybody changing anything: a full disk, an address that does not answer. */
export function passes(error: unknown): boolean {
  return [...causesOf(error)].some((cause) => {
    const code = (cause as { code?: unknown } | null)?.code;
    return typeof code === 'string' && PASSING_CODES.has(code);
  });
}
