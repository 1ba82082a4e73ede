import { describeError } from '@ui-rl/retry';
import type { Deadline } from '@ui-rl/plugin-kit';
import type { Clock } from './clock';
import { EpisodeFailure, Stopped } from './failure';

/**
 * Calls a component of an episode. Its signal aborts at the deadline or when the service stops.
 *
 * @param code of the failure if it throws
 * @param what name of the component for messages: `reward "speed"`
 * @throws EpisodeFailure that names it, Stopped
 */
export async function inTime<T>(
  code: string,
  what: string,
  work: (deadline: Deadline) => T | Promise<T>,
  clock: Clock,
): Promise<T> {
  const abort = new AbortController();
  const { signal } = abort;
  const working = async (): Promise<T> => work({ deadlineAt: clock.deadlineAt, signal });
  try {
    return await clock.race(working());
  } catch (error) {
    abort.abort();
    if (error instanceof EpisodeFailure || error instanceof Stopped) throw error;
    throw new EpisodeFailure(code, `${what} failed: ${describeError(error)}`);
  }
}
