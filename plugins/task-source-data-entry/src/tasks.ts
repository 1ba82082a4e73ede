import { PluginError, type Log, type Task } from '@ui-rl/plugin-kit';
import type { DataEntryOptions, SheetOptions } from './options';
import { COLUMNS, sheetOf } from './sheet';

export const PAGE = 'data-entry';
/** Actions allowed per row: one click and one input per field, plus some mistakes. */
const STEPS_PER_ROW = 16;

/** Throws a `PluginError` `option` if a task requests more rows than the sheet has. */
export function tasksOf(options: DataEntryOptions, log: Log): Task[] {
  const { rows, rows_per_task: perTask, sheet: number } = options;
  if (perTask > rows) {
    throw new PluginError(
      'option',
      `tasks: rows_per_task is ${perTask}, expected at most ${rows}, the rows of the spreadsheet`,
    );
  }
  const left = rows % perTask;
  if (left > 0) log('warn', `simple_data_entry: the last ${left} of ${rows} rows fill no task of ${perTask}`);
  const sheet = sheetOf(number, rows);
  const begins = Array.from({ length: Math.floor(rows / perTask) }, (_, index) => index * perTask);
  return begins.map((begin) => taskOf({ begin, end: begin + perTask }, sheet, options));
}

/** @param asked rows from 0, end excluded */
function taskOf(asked: { begin: number; end: number }, sheet: string[][], options: DataEntryOptions): Task {
  const { rows, sheet: number, on } = options;
  const { begin, end } = asked;
  const indices = Array.from({ length: end - begin }, (_, index) => begin + index);
  return {
    id: `data_entry.${on}.${number}.${rows}.${begin + 1}-${end}`,
    description: descriptionOf(asked),
    category: 'input',
    difficulty: difficultyOf(indices.length),
    maxSteps: STEPS_PER_ROW * indices.length,
    environment: environmentOf(options, sheet),
    checks: [
      ...indices.map((value) => ({
        path: 'submitted_row_indices',
        operator: 'contains' as const,
        value,
      })),
      // An unrequested row does not count as incorrect, so the total is checked, too.
      { path: 'num_submissions', operator: 'equals', value: indices.length },
      { path: 'num_incorrect_submissions', operator: 'equals', value: 0 },
    ],
  };
}

/** The page with a sheet. */
export function environmentOf(
  { on, width, height }: SheetOptions,
  rows: readonly string[][],
): NonNullable<Task['environment']> {
  return {
    kind: on,
    options: {
      page: PAGE,
      ...(on === 'browser' ? { viewport: { width, height } } : { screen: { width, height } }),
      reset: { columns: COLUMNS, rows },
    },
  };
}

function descriptionOf({ begin, end }: { begin: number; end: number }): string {
  const form = 'from the spreadsheet at the left into the form at the right';
  return end - begin === 1
    ? `Type row ${end} ${form}, and submit it`
    : `Type rows ${begin + 1} to ${end} ${form}, one after the other, and submit each`;
}

function difficultyOf(rows: number): Task['difficulty'] {
  if (rows === 1) return 'easy';
  return rows <= 5 ? 'medium' : 'hard';
}
