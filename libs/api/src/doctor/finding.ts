import { describeError } from '@ui-rl/retry';

/** The result of one check. */
export interface Finding {
  /** `broker`, `database`, `disk` … */
  subject: string;
  /** `warning`: it works, but not for long or not well. `failure`: anything that depends on it fails. */
  status: 'ok' | 'warning' | 'failure';
  /** One sentence that describes what was found. */
  found: string;
  /** The fix: a command to run or a variable to set. */
  mend?: string;
}

/** A check of one part of the machine or of its configuration. */
export interface Check {
  subject: string;
  look: (signal: AbortSignal) => Promise<Omit<Finding, 'subject'>[]>;
}

export const ok = (found: string): Omit<Finding, 'subject'> => ({ status: 'ok', found });
export const warning = (found: string, mend: string): Omit<Finding, 'subject'> => ({
  status: 'warning',
  found,
  mend,
});
export const failure = (found: string, mend?: string): Omit<Finding, 'subject'> => ({
  status: 'failure',
  found,
  mend,
});

/**
 * Runs checks one after the other and yields their findings as they arrive. An exception from a check becomes a
 * failure.
 */
export async function* findings(checks: readonly Check[], signal: AbortSignal): AsyncGenerator<Finding> {
  for (const { subject, look } of checks) {
    signal.throwIfAborted();
    const found = await look(signal).catch((error: unknown) => [failure(describeError(error))]);
    for (const each of found) yield { subject, ...each };
  }
}
