import type { RunRecord } from '@ui-rl/contracts';
import {
  type LoadedTask,
  type Log,
  openTasks,
  PluginError,
  refuseUnjudged,
  sourcesOfSentences,
  type TaskList,
  type TaskSourceComponent,
  warnOfCutTasks,
} from '@ui-rl/plugin-kit';
import { receiveRunFile, type RunFileReceiver } from '@ui-rl/service';
import { taskMachine, taskUse, type CurriculumGroup } from '@ui-rl/settings';

/** The task-loader's view of a run. */
export interface LoaderPlan {
  runId: string;
  /** Training tasks, at least one. */
  tasks: TaskList;
  /** Environment of tasks that name none: that of the first one. */
  environment: LoadedTask['environment'];
  curriculum: CurriculumGroup;
  groupSize: number;
  groupsPerBatch: number;
  /** Seed of the task order, of environments and of samplers. */
  seed: number;
  /** Sources that may know tasks published by hand, in this order. */
  sources: TaskSourceComponent[];
}

/**
 * Reads the run file of a run and loads its tasks.
 *
 * @throws SettingsError or PluginError that describes the fault
 */
export async function planRun(
  record: RunRecord,
  receiver: RunFileReceiver & { log?: Log },
): Promise<LoaderPlan> {
  const { runId } = record;
  const { components } = receiver;
  const file = await receiveRunFile(record, ['tasks'], receiver);
  const sources = sourcesOfSentences([...file.tasks, ...file.eval_tasks], components);
  const { log = () => undefined } = receiver;
  const tasks = await openTasks(components, file.tasks, taskMachine(components, log), taskUse(file));
  try {
    if (tasks.length === 0) throw new PluginError('option', 'tasks: the sources gave no task to train on');
    refuseUnjudged(tasks, file, components, log);
    warnOfCutTasks(tasks, file.rollout.max_turns, (message) => log('warn', message));
  } catch (error) {
    await tasks.close();
    throw error;
  }
  return {
    runId,
    tasks,
    environment: (await tasks.at(0)).environment,
    curriculum: file.rollout.curriculum,
    groupSize: file.rollout.group_size,
    groupsPerBatch: file.training.groups_per_batch,
    seed: file.training.seed,
    sources,
  };
}
