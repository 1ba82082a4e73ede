import { bestEvaluation, printable, type EvaluationEvent } from '@ui-rl/contracts';
import { percent, percentWithInterval } from './intervals';
import type { RunObserver } from './run-observer';

export interface Score {
  success_rate: number;
  n: number;
  /** 95 %. */
  ci: [number, number];
}

export interface QuickstartReport {
  seed: number;
  /** Training goals, seeds not trained on. */
  baseline: Score | null;
  final: Score | null;
  /** The best evaluated checkpoint, where the last one is worse beyond its interval; else null. */
  best: (Score & { checkpoint: string; step: number }) | null;
  /** Goals that are in no kind of training. */
  eval_unseen: { baseline: Score | null; final: Score | null };
  episodes: number;
  env_steps: number;
  train_steps: number;
  wall_seconds: number;
  setup_seconds: number;
  invalid_share: number;
  /** Null where no step could measure it. */
  max_kl_sample_train: number | null;
  /** Address of the run's policy: `best`, or the last checkpoint. */
  checkpoint: string | null;
  peak_rss_bytes: Record<string, number>;
}

/** Null where there was no evaluation, or all of its episodes are invalid. */
function score(event: EvaluationEvent | undefined): Score | null {
  if (event === undefined || event.successRate === null) return null;
  return { success_rate: event.successRate, n: event.episodes, ci: event.interval };
}

/** The evaluation of an earlier checkpoint that is better than the last beyond its interval. */
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
    baseline: score(observer.evaluation('baseline', 'train_goals')),
    final: score(observer.evaluation('final', 'train_goals')),
    best: bestScore(better),
    eval_unseen: {
      baseline: score(observer.evaluation('baseline', 'eval_goals')),
      final: score(observer.evaluation('final', 'eval_goals')),
    },
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

function row(name: string, before: Score | null, after: Score | null): string {
  const cell = (s: Score | null) => (s === null ? '–' : percentWithInterval(s.success_rate, s.ci)).padEnd(18);
  return `  ${name.padEnd(44)} ${cell(before)} ${cell(after)}`;
}

function meanReward(event: EvaluationEvent | undefined): string {
  return event?.metrics?.['env/all/reward/total']?.toFixed(3) ?? '–';
}

/** Per-task and overall success before and after, as text. */
export function beforeAfterTable(observer: RunObserver): string {
  const lines: string[] = [];
  for (const [set, title] of [
    ['train_goals', 'Training goals, unseen seeds'],
    ['eval_goals', 'Unseen goals'],
  ] as const) {
    const before = observer.evaluation('baseline', set);
    const after = observer.evaluation('final', set);
    if (before === undefined && after === undefined) continue;
    lines.push('', `${title.padEnd(46)} ${'before'.padEnd(18)} after`);
    for (const task of (after ?? before)!.tasks) {
      const tally = (event: EvaluationEvent | undefined) => {
        const found = event?.tasks.find((t) => t.taskId === task.taskId);
        return found && found.episodes > 0 ? `${found.successes}/${found.episodes}` : '–';
      };
      lines.push(
        `  ${printable(task.description).slice(0, 44).padEnd(44)} ${tally(before).padEnd(18)} ${tally(after)}`,
      );
    }
    lines.push(row(`all (${percent(0.95)} interval)`, score(before), score(after)));
    if ((before?.unjudged ?? 0) + (after?.unjudged ?? 0) === 0) continue;
    lines.push(`  ${'mean reward'.padEnd(44)} ${meanReward(before).padEnd(18)} ${meanReward(after)}`);
  }
  return [...lines, ...bestLines(observer)].join('\n');
}

function bestLines(observer: RunObserver): string[] {
  const best = betterThanLast(observer);
  const found = score(best);
  if (best === undefined || found === null) return [];
  return [
    '',
    `The last checkpoint is worse than that of step ${best.policyVersion}, which is the result of the run: ${printable(best.checkpoint)}`,
    row(`step ${best.policyVersion}`, null, found),
  ];
}
