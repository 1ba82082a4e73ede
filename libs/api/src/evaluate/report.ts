import {
  pairedDifference,
  wilson,
  type EvaluationEvent,
  type Pairs,
  type Trajectory,
} from '@ui-rl/contracts';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import type { Score } from '../report/quickstart-report';
import { passAtK } from './statistics';

/** One episode of a candidate. */
export interface EpisodeScore {
  /** Environment seed. */
  seed: number;
  status: Trajectory['status'];
  /** Null if nothing judges success: the task has rewards only. */
  success: boolean | null;
  reward: number;
  turns: number;
  rollout_id: string;
  /** Why the episode does not measure the policy. */
  invalid_reason?: string;
}

/** Results of a candidate, for one task or for all. Invalid episodes are excluded. */
export interface CandidateScore {
  /** Null without a valid episode that was judged. */
  score: Score | null;
  successes: number;
  invalid: number;
  /** Valid episodes of tasks that have rewards only; excluded from all rates. */
  unjudged: number;
  /** Mean over all valid episodes; null without any. */
  mean_reward: number | null;
  /**
   * k → probability that at least one of k attempts at a task succeeds, averaged over the tasks that have k valid
   * episodes.
   */
  pass_at_k: Record<string, number>;
}

export interface TaskResult extends CandidateScore {
  id: string;
  description: string;
  episodes: EpisodeScore[];
}

export interface CandidateResult extends CandidateScore {
  label: string;
  checkpoint: string;
  /** Options that apply to this candidate only. */
  flags: string[];
  /** Sampling parameters that its endpoint rejects, such as `temperature`: answers were sampled without them. */
  refused_parameters: readonly string[];
  mean_turns: number | null;
  wall_seconds: number;
  tasks: TaskResult[];
  /** In alphabetical order; a task counts for each of its tags. */
  tags: TagResult[];
}

/** The tasks with a tag, over all their episodes. */
export interface TagResult extends Omit<CandidateScore, 'pass_at_k'> {
  tag: string;
  tasks: number;
}

/** Two candidates, compared on the episodes that both have played. */
export interface Comparison {
  label: string;
  to: string;
  /** Success rate minus the success rate of `to`. */
  difference: number;
  /** Paired 95 % interval. */
  ci: [number, number];
  pairs: number;
  /** Episodes in which only this candidate succeeded. */
  better: number;
  worse: number;
}

export interface EvalReport {
  /** Id of the run that records the evaluation; null if it is not recorded. */
  run: string | null;
  seed: number;
  episodes_per_task: number;
  temperature: number;
  /** Why the evaluation stopped early; null if it is complete. */
  ended: string | null;
  checkpoints: CandidateResult[];
  /** Compares every other candidate with the first. */
  comparisons: Comparison[];
}

/** The episodes of a candidate by task and repetition; undefined for those that were not played. */
export type Played = (EpisodeScore | undefined)[][];

export function candidateResult(
  tasks: readonly LoadedTask[],
  played: Played,
  facts: Pick<CandidateResult, 'label' | 'checkpoint' | 'flags' | 'refused_parameters' | 'wall_seconds'>,
): CandidateResult {
  const results = tasks.map(({ id, description }, place): TaskResult => {
    const episodes = (played[place] ?? []).filter((each) => each !== undefined);
    return { id, description, ...scoreOf(episodes), pass_at_k: taskPassAtK(episodes), episodes };
  });
  const all = results.flatMap(({ episodes }) => episodes);
  const valid = all.filter(isValid);
  const turns = valid.reduce((sum, { turns: count }) => sum + count, 0);
  return {
    ...facts,
    ...scoreOf(all),
    pass_at_k: meanPassAtK(results),
    mean_turns: valid.length === 0 ? null : turns / valid.length,
    tasks: results,
    tags: tagResults(tasks, results),
  };
}

function tagResults(tasks: readonly LoadedTask[], results: readonly TaskResult[]): TagResult[] {
  const byTag = new Map<string, TaskResult[]>();
  tasks.forEach(({ tags = [] }, place) => {
    for (const tag of new Set(tags)) byTag.set(tag, [...(byTag.get(tag) ?? []), results[place]]);
  });
  return [...byTag.keys()].toSorted().map((tag) => {
    const tagged = byTag.get(tag)!;
    return { tag, tasks: tagged.length, ...scoreOf(tagged.flatMap(({ episodes }) => episodes)) };
  });
}

function isValid({ status }: EpisodeScore): boolean {
  return status !== 'invalid';
}

function isJudged(episode: EpisodeScore): boolean {
  return isValid(episode) && episode.success !== null;
}

function scoreOf(episodes: readonly EpisodeScore[]): Omit<CandidateScore, 'pass_at_k'> {
  const valid = episodes.filter(isValid);
  const judged = valid.filter(isJudged);
  const successes = judged.filter(({ success }) => success).length;
  const n = judged.length;
  const reward = valid.reduce((sum, each) => sum + each.reward, 0);
  return {
    score: n === 0 ? null : { success_rate: successes / n, n, ci: wilson(successes, n) },
    successes,
    invalid: episodes.length - valid.length,
    unjudged: valid.length - n,
    mean_reward: valid.length === 0 ? null : reward / valid.length,
  };
}

function taskPassAtK(episodes: readonly EpisodeScore[]): Record<string, number> {
  const judged = episodes.filter(isJudged);
  const successes = judged.filter(({ success }) => success).length;
  return Object.fromEntries(ksUpTo(judged.length).map((k) => [k, passAtK(successes, judged.length, k)!]));
}

/** Powers of two up to n, and n. */
function ksUpTo(n: number): number[] {
  const ks: number[] = [];
  for (let k = 1; k < n; k *= 2) ks.push(k);
  return n === 0 ? [] : [...ks, n];
}

function meanPassAtK(results: readonly TaskResult[]): Record<string, number> {
  const most = Math.max(0, ...results.map(({ score }) => score?.n ?? 0));
  return Object.fromEntries(
    ksUpTo(most).map((k) => {
      const known = results.flatMap(({ score, successes }) => passAtK(successes, score?.n ?? 0, k) ?? []);
      return [k, known.reduce((sum, each) => sum + each, 0) / known.length];
    }),
  );
}

/** Null if no judged episode is common to both. */
export function compare(
  first: { label: string; played: Played },
  second: { label: string; played: Played },
): Comparison | null {
  const pairs: Pairs = { both: 0, onlyFirst: 0, onlySecond: 0, neither: 0 };
  for (const [task, episodes] of first.played.entries()) {
    for (const [repetition, a] of episodes.entries()) {
      const b = second.played[task]?.[repetition];
      if (a === undefined || b === undefined || !isJudged(a) || !isJudged(b)) continue;
      if (a.success) pairs[b.success ? 'both' : 'onlyFirst'] += 1;
      else pairs[b.success ? 'onlySecond' : 'neither'] += 1;
    }
  }
  const found = pairedDifference(pairs);
  if (found === null) return null;
  const { both, onlyFirst, onlySecond, neither } = pairs;
  return {
    label: second.label,
    to: first.label,
    difference: found.difference,
    ci: found.interval,
    pairs: both + onlyFirst + onlySecond + neither,
    better: onlySecond,
    worse: onlyFirst,
  };
}

/** The event that a run's evaluator would publish for these results. */
export function evaluationEvent(
  runId: string,
  evaluationId: string,
  { label, checkpoint, score, successes, invalid, unjudged, mean_reward: reward, tasks }: CandidateResult,
): Omit<EvaluationEvent, 'at'> {
  return {
    type: 'evaluation',
    runId,
    evaluationId,
    stage: 'final',
    set: label,
    policyVersion: 0,
    checkpoint,
    successRate: score?.success_rate ?? null,
    interval: score?.ci ?? wilson(successes, 0),
    episodes: score?.n ?? 0,
    invalid,
    ...(unjudged === 0 ? {} : { unjudged }),
    ...(reward === null ? {} : { metrics: { 'env/all/reward/total': reward } }),
    tasks: tasks.map(({ id: taskId, description, successes: of, score: scored }) => ({
      taskId,
      description,
      successes: of,
      episodes: scored?.n ?? 0,
    })),
  };
}
