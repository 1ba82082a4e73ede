import {
  openTasks,
  refuseSharedGoals,
  refuseUnjudged,
  warnOfCutTasks,
  type ComponentRegistry,
  type TaskList,
} from '@ui-rl/plugin-kit';
import { filesOfRun, taskMachine, taskUse, type RunFile } from '@ui-rl/settings';

/** Number of tasks of a run. */
export interface TaskCounts {
  training: number;
  evaluation: number;
  /** Kinds of environments that they name. */
  environments: readonly string[];
}

/**
 * Reads the task sources of a run, to report their faults before anything starts: tasks that nothing can judge, goals
 * that are both trained and evaluated. Warns of tasks that end before their turn limit. Returns null if files of the
 * sources are at a broker.
 *
 * @throws an error that names the option
 */
export async function countTasks(
  run: RunFile,
  registry: ComponentRegistry,
  onWarning: (message: string) => void,
): Promise<TaskCounts | null> {
  const files = filesOfRun(run, registry).filter(({ option }) => /^(eval_)?tasks\b/.test(option));
  if (files.some(({ isAddress }) => isAddress)) return null;
  const machine = taskMachine(registry, (level, message) => {
    if (level === 'warn' || level === 'error') onWarning(message);
  });
  const opened: TaskList[] = [];
  try {
    for (const option of ['tasks', 'eval_tasks'] as const) {
      opened.push(await naming(option, () => openTasks(registry, run[option], machine, taskUse(run))));
    }
    const [training, evaluation] = opened;
    if (training.length === 0) throw new Error('tasks: its sources give no task');
    refuseUnjudged(training, run, registry);
    for (const [place, option] of (['tasks', 'eval_tasks'] as const).entries())
      warnOfCutTasks(opened[place], run.rollout.max_turns, (message) => onWarning(`${option}: ${message}`));
    await refuseSharedGoals(training, evaluation);
    const environments = [...new Set(opened.flatMap((tasks) => [...tasks.environments]))];
    return { training: training.length, evaluation: evaluation.length, environments };
  } finally {
    await Promise.all(opened.map((tasks) => tasks.close()));
  }
}

/** Adds the option's name to errors of the work. */
export async function naming<T>(option: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${option}: ${(cause as Error).message}`, { cause });
  }
}
