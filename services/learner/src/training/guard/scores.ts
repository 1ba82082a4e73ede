import { wilson, type GroupResult } from '@ui-rl/contracts';

/** Successes of so many episodes; a success may be a share of one, where rewards judge. */
export type Score = [successes: number, episodes: number];

export const NO_SCORE: Score = [0, 0];
/** Batches that are remembered of a task. */
const PER_TASK = 8;
/** Batches of a task whose mean counts as its best: one alone is more often luck. */
const TOGETHER = 2;
/** Tasks that are remembered, those that were played last. */
const MAX_TASKS = 500;

/** Scores of the same tasks, over as many episodes each. */
export interface Comparison {
  observed: Score;
  /** Of the latest batches of each task. */
  mean: Score;
  /** Of the best of these. */
  best: Score;
}

export const NOTHING_COMPARED: Comparison = { observed: NO_SCORE, mean: NO_SCORE, best: NO_SCORE };

/** Comparisons of batches in a row, as one. */
export function together(a: Comparison, b: Comparison): Comparison {
  return { observed: plus(a.observed, b.observed), mean: plus(a.mean, b.mean), best: plus(a.best, b.best) };
}

/** The scores of tasks in the latest batches: what a batch is compared with. */
export class TaskScores {
  /** By task, those that were played last at the end. */
  private readonly scores: Map<string, Score[]>;

  constructor(entries: readonly (readonly [string, Score[]])[]) {
    this.scores = new Map(entries);
  }

  get entries(): [string, Score[]][] {
    return [...this.scores].slice(-MAX_TASKS);
  }

  /** What a batch reached on tasks that were played before, beside their mean and their best of then. */
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

  /** Whether each task succeeded in all episodes when it was played last. */
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

/** Whether a score lies far below another one, beyond what both intervals (95 %) allow for. */
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
