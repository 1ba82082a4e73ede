import { differ, divergenceMetrics, mean, type LogprobPair } from '@ui-rl/algorithms';
import { addSums, verdictMetrics, verdictSums, type IdleTimes, type Trajectory } from '@ui-rl/contracts';
import type { Group } from '../episodes/groups';

/** Metrics of a batch's episodes, with the names of Tinker's logs. */
export function environmentMetrics(groups: readonly Group[]): Record<string, number> {
  const episodes = groups.flatMap((group) => group.trajectories);
  const turns = episodes.flatMap((episode) => episode.turns);
  const judged = episodes.filter(({ success }) => typeof success === 'boolean');
  return {
    'env/all/reward/total': mean(episodes.map(({ reward }) => reward)),
    ...(judged.length > 0 ? { 'env/all/success': mean(judged.map(({ success }) => Number(success))) } : {}),
    ...rewardParts(episodes),
    ...verdictMetrics(addSums(episodes.map(verdictSums))),
    ...groupFractions(groups),
    'env/all/episodes': episodes.length,
    'env/all/turns_per_episode': mean(episodes.map((episode) => episode.turns.length)),
    'env/all/ac_tokens_per_turn': mean(turns.map(({ tokenIds }) => tokenIds.length)),
    'env/all/parse_failures': mean(turns.map(({ parseError }) => (parseError === undefined ? 0 : 1))),
    'env/all/truncated': mean(episodes.map(({ status }) => (status === 'truncated' ? 1 : 0))),
    'time/policy_per_turn': mean(turns.map(({ policyMs }) => policyMs)) / 1000,
    'time/env_per_turn': mean(turns.map(({ envMs }) => envMs)) / 1000,
    ...idleRatios(episodes.flatMap(({ idle }) => idle ?? [])),
  };
}

function rewardParts(episodes: readonly Trajectory[]): Record<string, number> {
  const names = new Set(episodes.flatMap(({ rewards }) => Object.keys(rewards)));
  return Object.fromEntries(
    [...names].map((name) => [
      `env/all/reward/${name}`,
      mean(episodes.map(({ rewards }) => rewards[name] ?? 0)),
    ]),
  );
}

/**
 * Shares of groups with different rewards, and of those with only the highest or only the lowest reward of the batch.
 */
function groupFractions(groups: readonly Group[]): Record<string, number> {
  const rewards = groups.map((group) => group.rewards);
  const all = rewards.flat();
  const best = Math.max(...all);
  const worst = Math.min(...all);
  const good = (own: number[]): boolean => !differ(own) && own[0] === best && best > 0;
  const bad = (own: number[]): boolean => !differ(own) && own[0] === worst && !good(own);
  const share = (chosen: (own: number[]) => boolean): number =>
    mean(rewards.map((own) => (chosen(own) ? 1 : 0)));
  return {
    'env/all/by_group/frac_mixed': share(differ),
    'env/all/by_group/frac_all_good': share(good),
    'env/all/by_group/frac_all_bad': share(bad),
  };
}

/** Idle shares of actor slots and of environment sessions. */
function idleRatios(times: readonly IdleTimes[]): Record<string, number> {
  const idle = total(times, ({ actorMs }) => actorMs);
  const places = idle + total(times, ({ playedMs }) => playedMs);
  const sessions = total(times, ({ sessionMs = 0 }) => sessionMs);
  return {
    ...(places > 0 ? { 'idle_ratio/actors': idle / places } : {}),
    ...(sessions > 0
      ? { 'idle_ratio/environments': total(times, ({ sessionIdleMs = 0 }) => sessionIdleMs) / sessions }
      : {}),
  };
}

function total<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

/** Engine metrics with another name in a run's records. */
const PUBLISHED: Readonly<Record<string, string>> = { passes: 'micro_batches' };

/**
 * The engine's metrics of an optimizer step, with the names of Tinker's logs, and the divergence from the sampler.
 */
export function optimizerMetrics(
  engine: Readonly<Record<string, number>>,
  compared: Iterable<LogprobPair>,
): Record<string, number> {
  return { ...engineMetrics(engine, 'optim'), ...divergenceMetrics(compared) };
}

/** The engine's metrics of an optimizer step, as `<prefix>/<name>`. */
export function engineMetrics(
  engine: Readonly<Record<string, number>>,
  prefix: string,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(engine).map(([name, value]) => [
      `${prefix}/${PUBLISHED[name] ?? name.replace(/^loss\//, '')}`,
      value,
    ]),
  );
}

/**
 * Combines the metrics of a step's optimizer steps: sums of counts, extremes, and means of the rest. The agreement of
 * sampler and trainer comes from the first one: afterwards the weights are no longer those that sampled.
 */
export function joinSubsteps(steps: readonly Record<string, number>[]): Record<string, number> {
  const joined: Record<string, number> = {};
  for (const name of new Set(steps.flatMap((step) => Object.keys(step)))) {
    const values = steps.flatMap((step) => (name in step ? [step[name]] : []));
    joined[name] = combine(name, values);
  }
  return joined;
}

const SUMMED = new Set([
  'optim/tokens',
  'optim/samples',
  'optim/sequences',
  'optim/micro_batches',
  'critic/tokens',
  'critic/micro_batches',
]);

const OF_THE_FIRST = new Set([
  'optim/kl_sample_train_v1',
  'optim/kl_sample_train_v2',
  'optim/logp_difference_max',
]);

function combine(name: string, values: number[]): number {
  if (OF_THE_FIRST.has(name)) return values[0];
  if (SUMMED.has(name)) return values.reduce((sum, value) => sum + value, 0);
  return name.endsWith('_max') ? Math.max(...values) : mean(values);
}
