import type { Task } from '@ui-rl/contracts';
import { Player, type EpisodeResult, type TaskOptions } from './player';

export interface TasksOptions extends TaskOptions {
  /** Episodes at once. Default 4. */
  actors?: number;
  /** Called as each episode is over, with its place among the tasks. */
  onEpisode?: (episode: EpisodeResult, place: number) => void;
}

/**
 * Plays one task in an environment of this process.
 *
 * @param task a whole task, or its description: of one that a task source knows, or for the environment of the run file
 * @returns the episode; `invalid`, with the reason, where something other than the policy failed
 */
export async function runTask(task: string | Task, options: TaskOptions): Promise<EpisodeResult> {
  const [episode] = await runTasks([task], { ...options, actors: 1 });
  return episode;
}

/**
 * Plays tasks, several at once, with one policy. The seed of the task at place `i` is `seed + i`.
 *
 * @returns the episodes in the order of the tasks
 */
export async function runTasks(
  tasks: readonly (string | Task)[],
  options: TasksOptions,
): Promise<EpisodeResult[]> {
  const { actors = 4, signal, onEpisode } = options;
  if (!(Number.isInteger(actors) && actors > 0))
    throw new Error(`actors is ${actors}, expected a whole number from 1`);
  signal?.throwIfAborted();
  const player = await Player.create(options, actors);
  const episodes: EpisodeResult[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const actor = async (): Promise<void> => {
    while (next < tasks.length && failures.length === 0) {
      const place = next++;
      episodes[place] = await player.play(tasks[place], place);
      onEpisode?.(episodes[place], place);
    }
  };
  // The first failure ends what the other actors play.
  const fail = async (error: unknown): Promise<void> => {
    failures.push(error);
    await player.close();
  };
  await Promise.all(Array.from({ length: Math.min(actors, tasks.length) }, () => actor().catch(fail)));
  await player.close();
  signal?.throwIfAborted();
  if (failures.length > 0) throw failures[0];
  return episodes;
}
