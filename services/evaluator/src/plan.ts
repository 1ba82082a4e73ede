import type { RunRecord } from '@ui-rl/contracts';
import { type ComponentRegistry, loadTasks, type LoadedTask } from '@ui-rl/plugin-kit';
import { receiveRunFile, type RunFileReceiver } from '@ui-rl/service';
import type { RunFile } from '@ui-rl/settings';

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
  /** Evaluate checkpoints whose step is a multiple; 0 = none. */
  every: number;
  /** Tries at one episode, the first included, before it counts as invalid. */
  maxAttempts: number;
  seed: number;
  /** Tasks that are left out, since nothing can verify whether they succeed. */
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
  const tasks = sets.flatMap((set) => set.tasks);
  return {
    runId,
    sets: sets
      .map(({ name, tasks: all }) => ({ name, tasks: all.filter(hasChecks) }))
      .filter((set) => set.tasks.length > 0),
    episodesPerTask: file.evaluation.episodes_per_task,
    baseline: file.evaluation.baseline,
    every: file.training.eval_every,
    maxAttempts: file.rollout.max_attempts,
    seed: file.training.seed,
    unchecked: tasks.filter((task) => !hasChecks(task)),
  };
}

async function loadSets(components: ComponentRegistry, file: RunFile): Promise<GoalSet[]> {
  const sources = { train_goals: file.tasks, eval_goals: file.eval_tasks };
  const sets = file.evaluation.sets.map(async (name) => ({
    name,
    tasks: await loadTasks(components, sources[name]),
  }));
  return Promise.all(sets);
}

function hasChecks({ checks }: LoadedTask): boolean {
  return checks !== undefined && checks.length > 0;
}
