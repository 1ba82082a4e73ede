import type { RunRecord } from '@ui-rl/contracts';
import { loadTasks, type LoadedTask, PluginError, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { receiveRunFile, type RunFileReceiver } from '@ui-rl/service';

/** What the task-loader knows of a run. */
export interface LoaderPlan {
  runId: string;
  /** Training tasks, at least one. */
  tasks: LoadedTask[];
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
export async function planRun(record: RunRecord, receiver: RunFileReceiver): Promise<LoaderPlan> {
  const { runId } = record;
  const { components } = receiver;
  const file = await receiveRunFile(record, ['tasks'], receiver);
  const configs = [...file.tasks, ...file.eval_tasks];
  const sources = new Set(configs.map(({ source_type }) => components.get('task-source', source_type)));
  const tasks = await loadTasks(components, file.tasks);
  if (tasks.length === 0) throw new PluginError('option', 'tasks: the sources gave no task to train on');
  return {
    runId,
    tasks,
    groupSize: file.rollout.group_size,
    seed: file.training.seed,
    sources: [...sources],
  };
}
