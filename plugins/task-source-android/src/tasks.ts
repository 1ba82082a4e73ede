import { didYouMean, PluginError, type Task } from '@ui-rl/plugin-kit';
import { EVALUATION, TRAINING, type Goal } from './goals';
import type { AndroidIdsOptions, AndroidTaskOptions } from './options';

/** The tasks of goals, for the configured environment. */
export function tasksOf(goals: readonly Goal[], { environment }: AndroidTaskOptions): Task[] {
  return goals.map((goal) => taskOf(goal, environment));
}

/** Goals by id, in the given order. Throws `PluginError` for an unknown id. */
export function byIds(ids: AndroidIdsOptions['task_ids']): Goal[] {
  const all = [...TRAINING, ...EVALUATION];
  return ids.map((id) => {
    const found = all.find((goal) => goal.id === id);
    if (found !== undefined) return found;
    const meant = didYouMean(
      id,
      all.map((goal) => goal.id),
    );
    throw new PluginError('option', `tasks: task_ids names "${id}", which no task for Android has.${meant}`);
  });
}

/** Settings starts at its first page, and the goal does not hold yet. */
function taskOf({ goal, validators, settings = {}, open, ...rest }: Goal, kind: string): Task {
  return {
    ...rest,
    description: goal,
    start: { stop: ['com.android.settings'], settings, open },
    environment: { kind, options: { validators } },
    checks: [{ path: 'validated', operator: 'equals', value: true }],
  };
}
