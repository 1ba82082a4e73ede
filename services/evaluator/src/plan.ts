import type { RunRecord } from '@ui-rl/contracts';
import {
  type ComponentRegistry,
  judgedBy,
  type LoadedTask,
  openTasks,
  refuseSharedGoals,
  sampleOf,
  type TaskList,
} from '@ui-rl/plugin-kit';
import { receiveRunFile, type RunFileReceiver } from '@ui-rl/service';
import { taskMachine, taskUse, type RunFile } from '@ui-rl/settings';

/** Goals that are scored together. */
export interface GoalSet {
  /** `train_goals` or `eval_goals`. */
  name: string;
  tasks: LoadedTask[];
}

/** The evaluator's view of a run. */
export interface EvaluationPlan {
  runId: string;
  sets: GoalSet[];
  episodesPerTask: number;
  /** Whether to evaluate before training. */
  baseline: boolean;
  /** Whether to evaluate at the end of the warm start. */
  warmStart: boolean;
  /** Whether the run ends with the warm start. */
  onlyWarmStart: boolean;
  /** Evaluates checkpoints whose step is a multiple of this; 0 = none. */
  every: number;
  /** Maximum number of attempts at one episode, including the first, before it counts as invalid. */
  maxAttempts: number;
  seed: number;
  /** Tasks without a verifier's verdict, which only rewards judge. */
  judgedByRewards: LoadedTask[];
  /** Excluded tasks that nothing in the run can judge. */
  unchecked: LoadedTask[];
}

/**
 * Reads the run file of a run and loads the tasks to evaluate.
 *
 * @throws SettingsError or PluginError that describes the fault
 */
export async function planRun(record: RunRecord, receiver: RunFileReceiver): Promise<EvaluationPlan> {
  const { runId } = record;
  const file = await receiveRunFile(record, ['tasks', 'eval_tasks'], receiver);
  const sets = await loadSets(receiver.components, file);
  const judges = judgedBy(file, receiver.components);
  const by = (wanted: ReturnType<typeof judges>) =>
    sets.flatMap((set) => set.tasks).filter((task) => judges(task) === wanted);
  return {
    runId,
    sets: sets
      .map(({ name, tasks: all }) => ({ name, tasks: all.filter((task) => judges(task) !== null) }))
      .filter((set) => set.tasks.length > 0),
    episodesPerTask: file.evaluation.episodes_per_task,
    baseline: file.evaluation.baseline,
    warmStart: file.evaluation.warm_start,
    onlyWarmStart: file.training.warm_start.only,
    every: file.training.eval_every,
    maxAttempts: file.rollout.max_attempts,
    seed: file.training.seed,
    judgedByRewards: by('rewards'),
    unchecked: by(null),
  };
}

async function loadSets(components: ComponentRegistry, file: RunFile): Promise<GoalSet[]> {
  const sources = { train_goals: file.tasks, eval_goals: file.eval_tasks };
  const opened = new Map<string, TaskList>();
  const machine = taskMachine(components);
  const { max_tasks: most } = file.evaluation;
  const sample = (tasks: TaskList) => sampleOf(tasks, most, file.training.seed);
  try {
    for (const name of file.evaluation.sets)
      opened.set(name, await openTasks(components, sources[name], machine, taskUse(file)));
    const [training, evaluation] = [opened.get('train_goals'), opened.get('eval_goals')];
    if (training !== undefined && evaluation !== undefined) await refuseSharedGoals(training, evaluation);
    const sets = [...opened].map(async ([name, tasks]) => ({ name, tasks: await sample(tasks) }));
    return await Promise.all(sets);
  } finally {
    await Promise.all([...opened.values()].map((tasks) => tasks.close()));
  }
}
