import { wilson, type GroupResult } from '@ui-rl/contracts';

/** Successes and episodes; a success may be fractional if rewards judge. */
export type Score = [successes: number, episodes: number];

export const NO_SCORE: Score = [0, 0];
/** Number of batches that are remembered per task. */
const PER_TASK = 8;
/** Number of batches of a task whose mean counts as its best: a single one is more often luck. */
const TOGETHER = 2;
/** Number of most recently played tasks that are remembered. */
const MAX_TASKS = 500;

/** Scores of the same tasks, over the same number of episodes each. */
export interface Comparison {
  observed: Score;
  /** Of the latest batches of each task. */
  mean: Score;
  /** Of the best of these. */
  best: Score;
}

export const NOTHING_COMPARED: Comparison = { observed: NO_SCORE, mean: NO_SCORE, best: NO_SCORE };

/** Combines comparisons of consecutive batches. */
export function together(a: Comparison, b: Comparison): Comparison {
  return { observed: plus(a.observed, b.observed), mean: plus(a.mean, b.mean), best: plus(a.best, b.best) };
}

/** The scores of tasks in the latest batches, with which a batch is compared. */
export class TaskScores {
  /** By task, most recently played last. */
  private readonly scores: Map<string, Score[]>;

  constructor(entries: readonly (readonly [string, Score[]])[]) {
    this.scores = new Map(entries);
  }

  get entries(): [string, Score[]][] {
    return [...this.scores].slice(-MAX_TASKS);
  }

  /** A batch's scores on tasks that were played before, with their mean and their best at that time. */
  compare(results: readonly GroupResult[]): Comparison {
    const compared: Comparison = { observed: NO_SCORE, mean: NO_SCORE, best: NO_SCORE };
    for (const [task, own] of byTask(results)) {
      const known = this.scores.get(task);
      if (known === undefined) continue;
      compared.observed = plus(compared.observed, own);
      compared.mean = plus(compared.mean, scaled(known.reduce(plus), own[1]));
      compared.best = plus(compared.best, scaled(bestOf(known), own[1]));
    }
    return compared;
  }

  /** @returns whether a task is new */
  add(results: readonly GroupResult[]): boolean {
    let isNew = false;
    for (const [task, own] of byTask(results)) {
      const known = this.scores.get(task) ?? [];
      isNew ||= known.length === 0;
      this.scores.delete(task);
      this.scores.set(task, [...known, own].slice(-PER_TASK));
    }
    return isNew;
  }

  /** Whether each task succeeded in all episodes when it was last played. */
  get allSolved(): boolean {
    return [...this.scores.values()].every((known) => rateOf(known.at(-1)!) === 1);
  }
}

function bestOf(known: readonly Score[]): Score {
  const windows = known
    .slice(0, Math.max(1, known.length - TOGETHER + 1))
    .map((_, first) => known.slice(first, first + TOGETHER).reduce(plus));
  return windows.reduce((best, score) => (rateOf(score) > rateOf(best) ? score : best));
}

function byTask(results: readonly GroupResult[]): Map<string, Score> {
  const tasks = new Map<string, Score>();
  for (const { task, episodes, score } of results) {
    tasks.set(task, plus(tasks.get(task) ?? NO_SCORE, [score * episodes, episodes]));
  }
  return tasks;
}

/** Whether a score is far below another one, beyond both 95 % intervals. */
export function isFarBelow(found: Score, best: Score, drop: number): boolean {
  return found[1] > 0 && wilson(...found)[1] < drop * wilsonLow(best);
}

/** Whether a score may be as good as another one. */
export function asGood(found: Score, best: Score): boolean {
  return best[1] === 0 || wilson(...found)[1] >= rateOf(best);
}

export function wilsonLow(score: Score): number {
  return wilson(...score)[0];
}

export function percent(score: Score): string {
  return `${Math.round(100 * rateOf(score))} %`;
}

function rateOf([successes, episodes]: Score): number {
  return episodes === 0 ? 0 : successes / episodes;
}

function scaled(score: Score, episodes: number): Score {
  return [rateOf(score) * episodes, episodes];
}

function plus([a, n]: Score, [b, m]: Score): Score {
  return [a + b, n + m];
}
