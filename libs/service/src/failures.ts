import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';

/**
 * A run that cannot be served here, even with retries: it requires something that this host, or every host, lacks.
 */
export class Misconfigured extends Error {
  override readonly name = 'Misconfigured';
}

/** System error codes of temporary conditions: no disk space, no memory, no connection. */
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

/** An error and its causes, outermost first. */
export function* causesOf(error: unknown): Generator {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = (cause as Error).cause)
    yield cause;
}

/** Whether a host or the run itself is misconfigured. */
export function isMisconfiguration(error: unknown): boolean {
  return [...causesOf(error)].some(
    (cause) =>
      cause instanceof PluginError || cause instanceof SettingsError || cause instanceof Misconfigured,
  );
}

/** Whether the failure may resolve without intervention: a full disk, an address that does not answer. */
export function passes(error: unknown): boolean {
  return [...causesOf(error)].some((cause) => {
    const code = (cause as { code?: unknown } | null)?.code;
    return typeof code === 'string' && PASSING_CODES.has(code);
  });
}
