import {
  isRecord,
  show,
  valueAt,
  type DetailedReward,
  type JudgedEpisode,
  type RewardParts,
} from '@ui-rl/plugin-kit';
import type { ProgressOptions } from './options';

type State = Record<string, unknown> | null | undefined;

/** Submission counts of ui-verifiers. */
interface Counts {
  correct: ReadonlySet<number>;
  incorrect: number;
}

/**
 * Rewards the turn of the submission if the environment reports its state after each turn, otherwise the episode.
 *
 * @throws Error if the environment reports no such counts, so that the episode cannot be scored
 */
export function progressReward(
  { stateBefore, stateAfter, turns }: JudgedEpisode,
  options: ProgressOptions,
): DetailedReward {
  const first = countsIn(stateBefore, options.path, 'before the first turn');
  const last = countsIn(stateAfter, options.path, 'at the end');
  const cost: RewardParts = { submission_steps: 0 - options.step_cost };
  const between = turns.slice(0, -1).map(({ stateAfter: state }) => state);
  if (turns.length === 0 || between.some((state) => state === undefined)) {
    return { episode: gain(first, last, options), turns: turns.map(() => cost) };
  }
  const counts = [
    first,
    ...between.map((state, index) => countsIn(state, options.path, `after turn ${index}`)),
    last,
  ];
  return {
    turns: turns.map((_, index) => ({ ...gain(counts[index], counts[index + 1], options), ...cost })),
  };
}

/** Submitting the same row again earns nothing. */
function gain(before: Counts, after: Counts, { correct, incorrect }: ProgressOptions): RewardParts {
  const gained = [...after.correct].filter((row) => !before.correct.has(row)).length;
  const lost = [...before.correct].filter((row) => !after.correct.has(row)).length;
  return {
    submissions_correct: correct * (gained - lost),
    submissions_incorrect: 0 - incorrect * Math.max(0, after.incorrect - before.incorrect),
  };
}

function countsIn(state: State, path: string | undefined, when: string): Counts {
  const found = path === undefined ? state : valueAt(state, path);
  if (isRecord(found) && isCounts(found)) {
    return { correct: new Set(found.submitted_row_indices), incorrect: found.num_incorrect_submissions };
  }
  const where = path === undefined ? '' : ` at "${path}"`;
  throw new Error(
    `the environment reports ${show(found)}${where} ${when}, expected the counts of ui-verifiers: ` +
      '{"submitted_row_indices": [0, 3], "num_incorrect_submissions": 1}',
  );
}

interface Reported {
  submitted_row_indices: number[];
  num_incorrect_submissions: number;
}

function isCounts(found: object): found is Reported {
  const { submitted_row_indices: rows, num_incorrect_submissions: incorrect } = found as Partial<Reported>;
  return Array.isArray(rows) && rows.every(isCount) && isCount(incorrect);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}
