import {
  addSums,
  verdictMetrics,
  verdictSums,
  type OpenEvaluation,
  type TaskScore,
  type Trajectory,
} from '@ui-rl/contracts';

type Sums = Readonly<Record<string, number>>;

/** Sums over the episodes of an evaluation, so that the episodes need not be kept. */
const EPISODES = 'episodes';
const TURNS = 'turns';
const TOKENS = 'tokens';
const PARSE_FAILURES = 'parse_failures';
const TRUNCATED = 'truncated';
const REWARD = 'reward/total';

/** The sums, including one more episode. */
export function withSums(sums: Sums = {}, episode: Trajectory): Record<string, number> {
  const { status, reward, rewards, turns } = episode;
  const own: Sums = {
    [EPISODES]: 1,
    [TURNS]: turns.length,
    [TOKENS]: turns.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0),
    [PARSE_FAILURES]: turns.filter(({ parseError }) => parseError !== undefined).length,
    [TRUNCATED]: status === 'truncated' ? 1 : 0,
    ...Object.fromEntries(Object.entries(rewards).map(([part, value]) => [`reward/${part}`, value])),
    [REWARD]: reward,
    ...verdictSums(episode),
  };
  return addSums([sums, own]);
}

/** The metrics of an evaluation, with the same names as those of a step. Groups are the episodes of a task. */
export function evaluationMetrics(
  { sums }: Pick<OpenEvaluation, 'sums'>,
  tasks: readonly TaskScore[],
): Record<string, number> {
  const groups = tasks.filter(({ episodes }) => episodes > 0);
  // Evaluations started by an earlier version have no sums.
  if (sums === undefined) return {};
  const { [EPISODES]: episodes, [TURNS]: turns, [TOKENS]: tokens, [PARSE_FAILURES]: unread } = sums;
  const rewards = Object.entries(sums).filter(([name]) => name.startsWith('reward/'));
  return {
    'env/all/episodes': episodes,
    ...Object.fromEntries(rewards.map(([name, sum]) => [`env/all/${name}`, sum / episodes])),
    ...verdictMetrics(sums),
    'env/all/turns_per_episode': turns / episodes,
    ...(turns === 0
      ? {}
      : { 'env/all/ac_tokens_per_turn': tokens / turns, 'env/all/parse_failures': unread / turns }),
    'env/all/truncated': sums[TRUNCATED] / episodes,
    ...(groups.length === 0 ? {} : successMetrics(groups)),
  };
}

/** Over the tasks whose episodes have verdicts on success. */
function successMetrics(groups: readonly TaskScore[]): Record<string, number> {
  const share = (fits: (group: TaskScore) => boolean): number => groups.filter(fits).length / groups.length;
  const judged = groups.reduce((sum, group) => sum + group.episodes, 0);
  return {
    'env/all/success': groups.reduce((sum, { successes }) => sum + successes, 0) / judged,
    'env/all/by_group/frac_mixed': share(({ successes, episodes: of }) => successes > 0 && successes < of),
    'env/all/by_group/frac_all_good': share(({ successes, episodes: of }) => successes === of),
    'env/all/by_group/frac_all_bad': share(({ successes }) => successes === 0),
  };
}
