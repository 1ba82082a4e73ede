import { describeError } from '@ui-rl/retry';

/** What was looked at, and what came of it. */
export interface Finding {
  /** `broker`, `database`, `disk` … */
  subject: string;
  /** `warning`: it works, but not for long or not well. `failure`: what needs it fails. */
  status: 'ok' | 'warning' | 'failure';
  /** What is there, in a sentence. */
  found: string;
  /** What mends it: a command, a variable to set. */
  mend?: string;
}

/** One part of the machine or of what it is told to use. */
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

/** Runs checks one after the other and tells what they find as it comes; what a check throws is a failure. */
export async function* findings(checks: readonly Check[], signal: AbortSignal): AsyncGenerator<Finding> {
  for (const { subject, look } of checks) {
    signal.throwIfAborted();
    const found = await look(signal).catch((error: unknown) => [failure(describeError(error))]);
    for (const each of found) yield { subject, ...each };
  }
}
