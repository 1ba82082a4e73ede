import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { refuseConflicts, type RunFile } from '@ui-rl/settings';
import type { TaskCounts } from './run-tasks';

/**
 * Converts `training.epochs`, the passes over the tasks, to steps, the only unit that services know.
 *
 * @param counts null if the tasks cannot be counted here
 * @returns a note about the conversion; undefined if the run file sets steps, minutes or a warm start itself
 * @throws SettingsError if other options rule out a number of steps
 */
export function stepsOfEpochs(
  run: RunFile,
  counts: TaskCounts | null,
  registry: ComponentRegistry,
): string | undefined {
  const { epochs, groups_per_batch: groups } = run.training;
  if (epochs === undefined) return undefined;
  if (counts === null) {
    throw new Error(
      'training.epochs counts the tasks of the run, but files of theirs are at the broker: give training.max_steps or training.max_minutes',
    );
  }
  const steps = Math.ceil((epochs * counts.training) / groups);
  run.training.max_steps = steps;
  delete run.training.epochs;
  refuseConflicts(run, registry);
  const passes = epochs === 1 ? 'one pass' : `${epochs} passes`;
  const several = steps === 1 ? '1 step' : `${steps} steps`;
  return `trains ${several}: ${passes} over ${counts.training} tasks, ${groups} at a time; --training.max_steps, --training.epochs or --training.max_minutes says otherwise`;
}
