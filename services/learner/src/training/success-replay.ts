import type {
  AdvantageEstimate,
  AdvantageEstimator,
  EpisodeExperience,
  EpisodeGroup,
} from '@ui-rl/plugin-kit';
import { nameOf } from '../episodes/task-health';
import { hasLearningSignal } from './learning-signal';

/** Limit of kept episodes: each checkpoint contains them. */
const MOST_KEPT = 512;

/** The state between batches, as JSON. */
interface Memory {
  /** That of the estimator. */
  own?: unknown;
  /** Rollout ids of kept successes, oldest first, by the name of their task; the task played last comes last. */
  kept: [task: string, rolloutIds: string[]][];
}

/**
 * An estimator that adds earlier successes of the task to each group with too few, as if they were episodes of the
 * group. They are trained on again (as in ARPO, arXiv:2505.16282, section 3.3, for groups without any).
 * @param estimator compares episodes of a group, and keeps none itself
 * @param size number of successes that a group should have, and to keep per task; the newest stay. Beyond 512 in all,
 * those of the task that was played longest ago go
 */
export function withSuccessReplay(estimator: AdvantageEstimator, size: number): AdvantageEstimator {
  return {
    estimate(groups, memory, untrained): AdvantageEstimate {
      const { own, kept } = (memory as Memory | undefined) ?? { kept: [] };
      const fresh = groups.filter(({ isReplayed }) => isReplayed !== true);
      const borrowed = borrow(fresh, successesOf(groups), new Map(kept), size);
      const joined = fresh.map((group, index) => withEpisodes(group, borrowed[index]));
      const estimate = estimator.estimate(joined, own, untrained);
      const keptNow = newest(size, kept, fresh);
      const state: Memory = { own: estimate.memory, kept: keptNow };
      return {
        ...estimate,
        advantages: distributed(groups, joined, estimate.advantages),
        memory: state,
        keep: keptNow.flatMap(([, rolloutIds]) => rolloutIds),
        metrics: { ...estimate.metrics, replayed: borrowed.flat().length },
      };
    },
    hasLearningSignal(group, memory): boolean {
      const { own, kept } = (memory as Memory | undefined) ?? { kept: [] };
      const canBorrow = successesIn(group) < size && kept.some(([task]) => task === nameOf(group.task));
      return canBorrow || hasLearningSignal(estimator, group, own);
    },
  };
}

function successesIn({ episodes }: EpisodeGroup): number {
  return episodes.filter(({ success }) => success === true).length;
}

function successesOf(groups: readonly EpisodeGroup[]): Map<string, EpisodeExperience> {
  return new Map(
    groups
      .filter(({ isReplayed }) => isReplayed === true)
      .flatMap(({ episodes }) => episodes.map((episode) => [episode.rolloutId, episode] as const)),
  );
}

/** The episodes that each group is compared with besides its own; each is used once, the newest first. */
function borrow(
  groups: readonly EpisodeGroup[],
  successes: ReadonlyMap<string, EpisodeExperience>,
  kept: ReadonlyMap<string, readonly string[]>,
  size: number,
): EpisodeExperience[][] {
  const left = new Map(Array.from(kept, ([task, rolloutIds]) => [task, [...rolloutIds]]));
  return groups.map((group) => {
    const missing = Math.max(0, size - successesIn(group));
    const own = left.get(nameOf(group.task)) ?? [];
    const taken = own.splice(Math.max(0, own.length - missing));
    return taken.flatMap((rolloutId) => successes.get(rolloutId) ?? []);
  });
}

function withEpisodes(group: EpisodeGroup, more: readonly EpisodeExperience[]): EpisodeGroup {
  return more.length === 0 ? group : { ...group, episodes: [...group.episodes, ...more] };
}

/** Numbers of the joined groups at the places of their episodes; null for kept ones that no group needed. */
function distributed(
  groups: readonly EpisodeGroup[],
  joined: readonly EpisodeGroup[],
  numbers: AdvantageEstimate['advantages'],
): AdvantageEstimate['advantages'] {
  const byEpisode = new Map(
    joined.flatMap(({ episodes }, g) =>
      episodes.map(({ rolloutId }, e) => [rolloutId, numbers[g][e]] as const),
    ),
  );
  return groups.map(({ episodes }) => episodes.map(({ rolloutId }) => byEpisode.get(rolloutId) ?? null));
}

function newest(size: number, kept: Memory['kept'], fresh: readonly EpisodeGroup[]): Memory['kept'] {
  const all = new Map(kept);
  for (const group of fresh) {
    const won = group.episodes.filter(({ success }) => success === true).map(({ rolloutId }) => rolloutId);
    const own = [...(all.get(nameOf(group.task)) ?? []), ...won].slice(-size);
    all.delete(nameOf(group.task));
    if (own.length > 0) all.set(nameOf(group.task), own);
  }
  return withinLimit([...all]);
}

function withinLimit(kept: Memory['kept']): Memory['kept'] {
  let left = MOST_KEPT;
  const from = kept.findLastIndex(([, rolloutIds]) => (left -= rolloutIds.length) < 0);
  return kept.slice(from + 1);
}
