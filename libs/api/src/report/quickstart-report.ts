import { bestEvaluation, printable, type EvaluationEvent } from '@ui-rl/contracts';
import { percent, percentWithInterval } from './intervals';
import type { RunObserver } from './run-observer';

export interface Score {
  success_rate: number;
  n: number;
  /** 95 % interval. */
  ci: [number, number];
}

export interface QuickstartReport {
  seed: number;
  /** Training goals on seeds that training does not use. */
  baseline: Score | null;
  /** After the warm start; null if there was none. */
  warm_start: Score | null;
  final: Score | null;
  /** The best evaluated checkpoint, if the last one is worse by more than its interval; else null. */
  best: (Score & { checkpoint: string; step: number }) | null;
  /** Goals that no training phase uses. */
  eval_unseen: { baseline: Score | null; warm_start: Score | null; final: Score | null };
  episodes: number;
  env_steps: number;
  train_steps: number;
  wall_seconds: number;
  setup_seconds: number;
  invalid_share: number;
  /** Null if no step measured it. */
  max_kl_sample_train: number | null;
  /** Address of the run's policy: `best`, or the last checkpoint. */
  checkpoint: string | null;
  peak_rss_bytes: Record<string, number>;
}

/** Null without an evaluation, or if all of its episodes are invalid. */
function score(event: EvaluationEvent | undefined): Score | null {
  if (event === undefined || event.successRate === null) return null;
  return { success_rate: event.successRate, n: event.episodes, ci: event.interval };
}

function scoresOf(observer: RunObserver, set: string): QuickstartReport['eval_unseen'] {
  return {
    baseline: score(observer.evaluation('baseline', set)),
    warm_start: score(observer.evaluation('warm_start', set)),
    final: score(observer.evaluation('final', set)),
  };
}

/** The evaluation of an earlier checkpoint that exceeds the last one by more than its interval. */
function betterThanLast({ evaluations }: RunObserver): EvaluationEvent | undefined {
  const best = bestEvaluation(evaluations);
  return best?.stage === 'final' ? undefined : best;
}

function bestScore(event: EvaluationEvent | undefined): QuickstartReport['best'] {
  const found = score(event);
  if (event === undefined || found === null) return null;
  return { ...found, checkpoint: event.checkpoint, step: event.policyVersion };
}

export interface ReportFacts {
  seed: number;
  wallSeconds: number;
  setupSeconds: number;
  peakRss: Record<string, number>;
}

export function quickstartReport(observer: RunObserver, facts: ReportFacts): QuickstartReport {
  const better = betterThanLast(observer);
  return {
    seed: facts.seed,
    ...scoresOf(observer, 'train_goals'),
    best: bestScore(better),
    eval_unseen: scoresOf(observer, 'eval_goals'),
    episodes: observer.episodes,
    env_steps: observer.envSteps,
    train_steps: observer.trainSteps,
    wall_seconds: facts.wallSeconds,
    setup_seconds: facts.setupSeconds,
    invalid_share: observer.invalidShare,
    max_kl_sample_train: observer.maxKlSampleTrain,
    checkpoint: better?.checkpoint ?? observer.checkpoint?.name ?? null,
    peak_rss_bytes: facts.peakRss,
  };
}

/** Columns of the table in chronological order; the warm start appears only if it was evaluated. */
const STAGES = { baseline: 'before', warm_start: 'after warm start', final: 'after' } as const;

type Stage = keyof typeof STAGES;

function line(name: string, cells: readonly string[]): string {
  return [`  ${name.slice(0, 44).padEnd(44)}`, ...cells.map((cell) => cell.padEnd(18))].join(' ').trimEnd();
}

function rate(event: EvaluationEvent | undefined): string {
  const found = score(event);
  return found === null ? '–' : percentWithInterval(found.success_rate, found.ci);
}

function tally(event: EvaluationEvent | undefined, taskId: string): string {
  const found = event?.tasks.find((task) => task.taskId === taskId);
  return found && found.episodes > 0 ? `${found.successes}/${found.episodes}` : '–';
}

function meanReward(event: EvaluationEvent | undefined): string {
  return event?.metrics?.['env/all/reward/total']?.toFixed(3) ?? '–';
}

/** Success per task and overall before training, after the warm start if any, and after training, as text. */
export function beforeAfterTable(observer: RunObserver): string {
  const lines = [
    ...setLines(observer, 'train_goals', 'Training goals, unseen seeds'),
    ...setLines(observer, 'eval_goals', 'Unseen goals'),
  ];
  return [...lines, ...bestLines(observer)].join('\n');
}

function setLines(observer: RunObserver, set: string, title: string): string[] {
  const all = (Object.keys(STAGES) as Stage[]).map((stage) => ({
    stage,
    event: observer.evaluation(stage, set),
  }));
  const columns = all.filter(({ stage, event }) => stage !== 'warm_start' || event !== undefined);
  const events = columns.map(({ event }) => event);
  const newest = events.findLast((event) => event !== undefined);
  if (newest === undefined) return [];
  const cells = (of: (event: EvaluationEvent | undefined) => string): string[] => events.map(of);
  const isJudgedByRewards = events.some((event) => (event?.unjudged ?? 0) > 0);
  return [
    '',
    [title.padEnd(46), ...columns.map(({ stage }) => STAGES[stage].padEnd(18))].join(' ').trimEnd(),
    ...newest.tasks.map(({ taskId, description }) =>
      line(
        printable(description),
        cells((event) => tally(event, taskId)),
      ),
    ),
    line(`all (${percent(0.95)} interval)`, cells(rate)),
    ...(isJudgedByRewards ? [line('mean reward', cells(meanReward))] : []),
  ];
}

function bestLines(observer: RunObserver): string[] {
  const best = betterThanLast(observer);
  if (best === undefined) return [];
  return [
    '',
    `The last checkpoint is worse than that of step ${best.policyVersion}, which is the result of the run: ${printable(best.checkpoint)}`,
    line(`step ${best.policyVersion}`, [rate(best)]),
  ];
}
