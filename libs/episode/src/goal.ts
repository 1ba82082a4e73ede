import type { Task } from '@ui-rl/contracts';
import { valueAt } from '@ui-rl/plugin-kit';
import type { State } from './environment';
import { EpisodeFailure } from './failure';

/**
 * The goal as the policy reads it: the task's description, or the text in the environment's first state.
 *
 * @throws EpisodeFailure if the environment's state has no such text
 */
export function goalOf({ description, goalFrom }: Task, initialState: State): string {
  if (goalFrom === undefined) return description;
  const goal = valueAt(initialState, goalFrom);
  if (typeof goal === 'string' && goal.trim() !== '') return goal;
  throw new EpisodeFailure(
    'bad_task',
    `the task reads its goal from "${goalFrom}" in the state of the first frame, where there is no text`,
  );
}
