import type { PlayedFor } from './route';

/** Names of the parameters of an address. */
export const FILTERS = [
  ...(['purpose', 'result', 'answers', 'task', 'step'] as const),
  ...(['minReward', 'maxReward', 'minTurns', 'maxTurns', 'minVersion', 'maxVersion'] as const),
  ...(['failedCheck', 'taskId', 'sort'] as const),
];
type Name = (typeof FILTERS)[number];
/** '' does not filter. */
export type EpisodeFilter = Record<Name, string>;

export function isFiltered(filter: EpisodeFilter): boolean {
  return FILTERS.some((name) => name !== 'sort' && filter[name] !== '');
}

/** The query of the episodes that pass a filter. */
export function episodeQuery(filter: EpisodeFilter, playedFor: PlayedFor | undefined): URLSearchParams {
  const { result, answers, sort, ...same } = filter;
  const isStatus = result === 'invalid' || result === 'truncated';
  const [by = '', order = ''] = sort.split(' ');
  const query = {
    ...same,
    status: isStatus ? result : '',
    success: isStatus ? '' : result,
    parseFailure: answers,
    sort: by,
    order,
    evaluation: playedFor?.evaluation ?? '',
    taskId: playedFor?.taskId ?? filter.taskId,
  };
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
}
