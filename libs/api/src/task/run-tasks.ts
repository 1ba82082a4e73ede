import { instantiate } from '@ui-rl/bus';
import { groupOfOne, samplingSeed, Task, type RolloutRequest } from '@ui-rl/contracts';
import type { Policy } from '@ui-rl/episode';
import { loadRunFile, readCliSettings, type LoadedRunFile, type RunFileOptions } from '@ui-rl/settings';
import { ASSUMED } from '../run/assumed';
import { inParallel } from './in-parallel';
import { Player, type EpisodeResult } from './player';

export interface TaskOptions {
  /** A `VisionLanguageModel` or any other policy. */
  policy: Policy;
  /**
   * How to play and judge the episode: path of a run file, or its options as an object. The options for episodes
   * apply as in an evaluation: `model.prompt`, `model.action_format`, `environment`, `rollout`,
   * `evaluation.temperature`, `verifier`, `rewards`.
   */
  runFile?: string | RunFileOptions;
  /** Seed of the environment and of the sampler. Default 0. */
  seed?: number;
  /** Aborts the episodes: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called with non-fatal problems. */
  onWarning?: (message: string) => void;
}

export interface TasksOptions extends TaskOptions {
  /** Number of concurrent episodes. Default 4. */
  actors?: number;
  /** Called after each episode, with the index of its task. */
  onEpisode?: (episode: EpisodeResult, place: number) => void;
}

const NAME = 'run-task';

/**
 * Plays one task in an environment of this process.
 *
 * @param task a whole task, or a description: one that a task source knows, or a goal for the run file's environment
 * @returns the episode; `invalid`, with the reason, if something other than the policy failed
 */
export async function runTask(task: string | Task, options: TaskOptions): Promise<EpisodeResult> {
  const [episode] = await runTasks([task], { ...options, actors: 1 });
  return episode;
}

/**
 * Plays tasks, several at once, with one policy. The seed of task `i` is `seed + i`.
 *
 * @returns the episodes in the order of the tasks
 * @throws SettingsError with every fault of the run file
 */
export async function runTasks(
  tasks: readonly (string | Task)[],
  options: TasksOptions,
): Promise<EpisodeResult[]> {
  const { actors = 4, policy, signal, seed = 0, runFile = {}, onEpisode, onWarning } = options;
  if (!(Number.isInteger(actors) && actors > 0))
    throw new Error(`actors is ${actors}, expected a whole number from 1`);
  signal?.throwIfAborted();
  const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const loaded = await loadRunFile({ ...source, assumed: ASSUMED }, readCliSettings().plugins);
  const player = await Player.create(loaded, { policy, actors, signal, onWarning });
  const episodes: EpisodeResult[] = [];
  const play = async (place: number): Promise<void> => {
    episodes[place] = await player.play(requestOf(wholeTask(tasks[place], loaded), place, seed));
    onEpisode?.(episodes[place], place);
  };
  try {
    await inParallel(tasks.length, actors, play, () => player.close());
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    await player.close();
  }
  return episodes;
}

function requestOf(task: Task, place: number, seed: number): RolloutRequest {
  return {
    ...groupOfOne(`${NAME}-${place}`, place),
    runId: NAME,
    purpose: 'eval',
    task,
    seed: seed + place,
    samplingSeed: samplingSeed(seed, NAME, String(place)),
    policy: 'latest',
  };
}

/** A sentence becomes the task of the first source that knows it. */
function wholeTask(given: string | Task, { run, registry }: LoadedRunFile): Task {
  const plain = typeof given === 'string' ? { description: given } : given;
  const read = instantiate(plain, Task);
  if (!read.ok) throw new Error(`the task makes no sense: ${read.reason}`);
  const task = read.value;
  const known = task.environment === undefined ? registry.resolveTask(task.description) : null;
  const environment = { kind: run.environment.kind.name, options: {} };
  const words = known === null ? {} : { description: known.description };
  return Object.assign(new Task(), { environment }, known, plain, words);
}
