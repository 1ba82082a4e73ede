import type { Action, Task } from '@ui-rl/plugin-kit';

type Box = readonly [x: number, y: number, width: number, height: number];

/** What the page tells of itself. */
export interface Progress {
  submitted_row_indices: readonly number[];
  num_incorrect_submissions: number;
  form: readonly { label: string; value: string; focused: boolean; marked: boolean; box: Box }[];
  submit: { box: Box };
}

/**
 * The next right action: field by field with mouse and keyboard, until all rows that the task asks for are submitted. Looks at the
 * state alone, so that it also goes on from what somebody else has begun.
 */
export function nextAction(task: Task, state: Progress): Action {
  const row = nextRow(task, state);
  if (row === undefined) return { action: 'finish', success: true };
  const wrong = state.form.findIndex(({ value }, column) => value !== row[column]);
  if (wrong < 0) return { action: 'click', ...middleOf(state.submit.box) };
  const { value, focused, marked, box } = state.form[wrong];
  // What stands there is marked as a whole, and what is typed takes its place.
  if (focused && value !== '' && !marked) return { action: 'key', keys: ['ctrl', 'a'] };
  if (focused) return { action: 'type', text: row[wrong] };
  if (wrong > 0 && state.form[wrong - 1].focused) return { action: 'key', keys: ['tab'] };
  return { action: 'click', ...middleOf(box) };
}

function nextRow({ checks = [], environment }: Task, { submitted_row_indices: done }: Progress) {
  const { rows } = environment!.options.reset as { rows: string[][] };
  const asked = checks.flatMap((check) =>
    'path' in check && check.path === 'submitted_row_indices' ? [check.value as number] : [],
  );
  const next = asked.find((index) => !done.includes(index));
  return next === undefined ? undefined : rows[next];
}

function middleOf([x, y, width, height]: Box): { x: number; y: number } {
  return { x: Math.round(x + width / 2), y: Math.round(y + height / 2) };
}
