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

/** What the evaluator knows of a run. */
export interface EvaluationPlan {
  runId: string;
  sets: GoalSet[];
  episodesPerTask: number;
  /** Evaluate before training. */
  baseline: boolean;
  /** Evaluate where the warm start has ended. */
  warmStart: boolean;
  /** Nothing follows the warm start. */
  onlyWarmStart: boolean;
  /** Evaluate checkpoints whose step is a multiple; 0 = none. */
  every: number;
  /** Tries at one episode, the first included, before it counts as invalid. */
  maxAttempts: number;
  seed: number;
  /** Tasks of which no verifier says whether they succeed, but rewards what was reached. */
  judgedByRewards: LoadedTask[];
  /** Tasks that are left out, since nothing of the run can judge them. */
  unchecked: LoadedTask[];
}

/**
 * Reads the run file of a run and loads what is evaluated.
 *
 * @throws SettingsError or PluginError that names what is wrong
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
