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

/** What the task-loader knows of a run. */
export interface LoaderPlan {
  runId: string;
  /** Training tasks, at least one. */
  tasks: TaskList;
  /** Where tasks are played that name nothing: that of the first one. */
  environment: LoadedTask['environment'];
  curriculum: CurriculumGroup;
  groupSize: number;
  /** Orders the tasks and seeds environments and samplers. */
  seed: number;
  /** Sources that are asked for tasks published by hand, in this order. */
  sources: TaskSourceComponent[];
}

/**
 * Reads the run file of a run and loads its tasks.
 *
 * @throws SettingsError or PluginError that names what is wrong
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
    seed: file.training.seed,
    sources,
  };
}
