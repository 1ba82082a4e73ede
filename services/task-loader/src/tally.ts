import type { GroupResult, TallyColumns } from '@ui-rl/contracts';

/** Measurements of a task, or of a difficulty: sums with lower weights for older groups. */
export interface Tally {
  episodes: number;
  score: number;
  groups: number;
  /** Episodes of all groups, unweighted. */
  seen: number;
  /** The latest measured group; -1 before the first. */
  last: number;
}

export const UNMEASURED: Tally = { episodes: 0, score: 0, groups: 0, seen: 0, last: -1 };

/** @param memory number of groups after which an older one has about a third of a new one's weight */
export function added(
  tally: Tally | undefined,
  { group, episodes, score }: GroupResult,
  memory: number,
): Tally {
  const before = tally ?? UNMEASURED;
  const kept = 1 - 1 / memory;
  return {
    episodes: before.episodes * kept + episodes,
    score: before.score * kept + score * episodes,
    groups: before.groups + 1,
    seen: before.seen + episodes,
    last: group,
  };
}

export function columnsOf(tallies: readonly Tally[]): TallyColumns {
  return {
    episodes: tallies.map(({ episodes }) => episodes),
    score: tallies.map(({ score }) => score),
    groups: tallies.map(({ groups }) => groups),
    seen: tallies.map(({ seen }) => seen),
    last: tallies.map(({ last }) => last),
  };
}

export function talliesOf({ episodes, score, groups, seen, last }: TallyColumns): Tally[] {
  return episodes.map((each, index) => ({
    episodes: each,
    score: score[index],
    groups: groups[index],
    seen: seen[index],
    last: last[index],
  }));
}
