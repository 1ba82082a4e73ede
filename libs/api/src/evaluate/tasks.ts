import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { environmentSeed, groupOfOne, samplingSeed, type RolloutRequest } from '@ui-rl/contracts';
import { judgedBy, openTasks, sampleOf, warnOfCutTasks, type LoadedTask, type Log } from '@ui-rl/plugin-kit';
import { taskMachine, taskUse, type LoadedRunFile } from '@ui-rl/settings';

/** The run-file flag that `--tasks` stands for: a file, a folder of files, or task sources as in a run file. */
export function tasksFlag(tasks: string | undefined, workingDir = process.cwd()): string[] {
  if (tasks === undefined) return [];
  const path = resolve(workingDir, tasks);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) return sourceFlag('file', path);
  const isPath = /[\\/]|\.(ya?ml|jsonl?|ndjson|txt|csv|tsv)$/i.test(tasks) && !/^\s*[[{]/.test(tasks);
  if (isPath && found?.isDirectory() === true) return sourceFlag('directory', path);
  if (isPath) throw new Error(`--tasks: there is no file or folder ${path}`);
  return ['--eval_tasks', tasks];
}

function sourceFlag(source_type: string, path: string): string[] {
  return ['--eval_tasks', JSON.stringify([{ source_type, path }])];
}

/** The tasks of `eval_tasks` that the verifier or the rewards can judge. @throws if there are none */
export async function tasksOf(
  { run, registry }: LoadedRunFile,
  onWarning: (message: string) => void,
): Promise<LoadedTask[]> {
  const log: Log = (level, message) => {
    if (level === 'warn' || level === 'error') onWarning(message);
  };
  const { verifier, rollout } = run;
  const opened = await openTasks(registry, run.eval_tasks, taskMachine(registry, log), taskUse(run));
  const { max_tasks: most } = run.evaluation;
  const all = await sampleOf(opened, most, run.training.seed);
  await opened.close();
  if (all.length < opened.length)
    onWarning(`${all.length} of ${opened.length} tasks are evaluated: evaluation.max_tasks, 0 for all`);
  warnOfCutTasks(opened, rollout.max_turns, onWarning);
  const judges = judgedBy(run, registry);
  const by = (wanted: ReturnType<typeof judges>) => all.filter((task) => judges(task) === wanted);
  const [judged, unchecked] = [all.filter((task) => judges(task) !== null), by(null)];
  if (judged.length === 0) {
    const found =
      all.length === 0
        ? 'there is no task'
        : `none of ${all.length} tasks has checks that say whether it succeeded, or anything else that the verifier "${verifier.name}" could judge, and no reward of the run file judges by itself`;
    throw new Error(`eval_tasks: ${found}; --tasks names a task file or a task source`);
  }
  if (unchecked.length > 0) {
    const names = unchecked.slice(0, 3).map(({ id }) => id);
    onWarning(
      `${unchecked.length} of ${all.length} tasks are left out, since nothing of the run file can judge them: ${names.join(', ')}${unchecked.length > 3 ? ' …' : ''}`,
    );
  }
  const rewarded = by('rewards').length;
  if (rewarded > 0)
    onWarning(
      `${rewarded} of ${all.length} tasks are judged by rewards alone: their mean reward is reported instead of a success rate`,
    );
  return judged;
}

/** An episode that every candidate plays from the same start and with the same sampler seed. */
export interface PlannedEpisode {
  /** Index of its task among the tasks. */
  task: number;
  /** 0 … episodes per task - 1. */
  repetition: number;
}

/** Plans every task once, then every task again, so that an interrupted evaluation is still a fair sample. */
export function plannedEpisodes(tasks: number, perTask: number): PlannedEpisode[] {
  return Array.from({ length: tasks * perTask }, (_, index) => ({
    task: index % tasks,
    repetition: Math.floor(index / tasks),
  }));
}

export interface RequestContext {
  runId: string;
  /** Id of the candidate's evaluation. */
  evaluationId: string;
  checkpoint: string;
  tasks: readonly LoadedTask[];
  seed: number;
  /** Environment of tasks that name none. */
  environment: string;
}

/** The request for a planned episode, with an environment seed that training never uses. */
export function episodeRequest(
  { runId, evaluationId, checkpoint, tasks, seed, environment }: RequestContext,
  { task: place, repetition }: PlannedEpisode,
  attempt: number,
): RolloutRequest {
  const task = tasks[place];
  const index = repetition * tasks.length + place;
  const groupId = `${evaluationId}-${String(index).padStart(4, '0')}`;
  const seeds = [seed, 'eval', task.id, repetition];
  return {
    ...groupOfOne(groupId, index, attempt),
    runId,
    purpose: 'eval',
    task: { ...task, environment: task.environment ?? { kind: environment, options: {} } },
    seed: environmentSeed('evaluation', ...seeds),
    samplingSeed: samplingSeed('evaluation', ...seeds),
    policy: checkpoint,
    evaluationId,
  };
}
