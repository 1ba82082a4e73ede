import type { Trajectory } from '@ui-rl/contracts';

/** Which episodes to take. Default: all. */
export interface EpisodeFilter {
  /** Filters by the verifier's verdict. */
  success?: 'yes' | 'no' | 'unknown' | undefined;
  /** A text in the task's id or description, in any case. */
  task?: string | undefined;
  /** Lowest return. */
  minReward?: number | undefined;
  /** Highest return. */
  maxReward?: number | undefined;
  /** Policy versions of the first turn: from and to, both included. */
  steps?: readonly [number, number] | undefined;
}

const VERDICTS = { yes: true, no: false, unknown: null } as const;

/** Whether a filter takes an episode. Invalid episodes are never taken. */
export function takes(
  filter: EpisodeFilter,
  { request, status, success, reward, turns }: Trajectory,
): boolean {
  const { minReward = -Infinity, maxReward = Infinity, steps: [first, last] = [0, Infinity] } = filter;
  const version = turns.at(0)?.policyVersion ?? 0;
  return (
    status !== 'invalid' &&
    (filter.success === undefined || (success ?? null) === VERDICTS[filter.success]) &&
    names(request.task, filter.task ?? '') &&
    reward >= minReward &&
    reward <= maxReward &&
    version >= first &&
    version <= last
  );
}

function names({ id = '', description }: Trajectory['request']['task'], part: string): boolean {
  return [id, description].some((text) => text.toLowerCase().includes(part.toLowerCase()));
}
