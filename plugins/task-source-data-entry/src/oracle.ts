import type { Action, Task } from '@ui-rl/plugin-kit';

type Box = readonly [x: number, y: number, width: number, height: number];

/** The state that the page reports. */
export interface Progress {
  submitted_row_indices: readonly number[];
  num_incorrect_submissions: number;
  form: readonly { label: string; value: string; focused: boolean; marked: boolean; box: Box }[];
  submit: { box: Box };
}

/**
 * The next correct action: field by field with mouse and keyboard, until all rows of the task are submitted. Depends
 * on the state alone, so it can also continue a started task.
 */
export function nextAction(task: Task, state: Progress): Action {
  const row = nextRow(task, state);
  if (row === undefined) return { action: 'finish', success: true };
  const wrong = state.form.findIndex(({ value }, column) => value !== row[column]);
  if (wrong < 0) return { action: 'click', ...middleOf(state.submit.box) };
  const { value, focused, marked, box } = state.form[wrong];
  // Select the existing content, so that typing replaces it.
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
