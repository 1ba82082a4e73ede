import { describeError } from '@ui-rl/retry';
import type { Policy } from '@ui-rl/episode';
import type { LoadedTask } from '@ui-rl/plugin-kit';
import type { LoadedRunFile } from '@ui-rl/settings';
import { inParallel } from '../task/in-parallel';
import { Player, type EpisodeResult } from '../task/player';
import type { EpisodeScore, Played } from './report';
import { episodeRequest, plannedEpisodes, type PlannedEpisode, type RequestContext } from './tasks';

export interface PlayOptions {
  loaded: LoadedRunFile;
  policy: Policy;
  tasks: readonly LoadedTask[];
  runId: string;
  evaluationId: string;
  checkpoint: string;
  /** Receives every episode, including invalid ones. */
  record: (episode: EpisodeResult) => Promise<void>;
  onEpisode: (progress: PlayProgress) => void;
  signal?: AbortSignal | undefined;
  onWarning?: ((message: string) => void) | undefined;
}

/** Progress of one candidate. */
export interface PlayProgress {
  /** Counts of finished episodes, of valid ones, of valid ones that were judged, and of successes. */
  done: number;
  valid: number;
  judged: number;
  successes: number;
  /** Total number of episodes to play. */
  episodes: number;
  /** Seconds since the start. */
  seconds: number;
}

/** The episodes that were played before the end. */
export interface PlayedEpisodes {
  played: Played;
  /** Why play stopped early; null if all episodes were played. */
  ended: string | null;
  seconds: number;
}

/** After this many invalid episodes in a row, the rest would fail too. */
const INVALID_IN_A_ROW = 20;

/** Plays every task as often as the run file says, several episodes at once. */
export async function playEpisodes(options: PlayOptions): Promise<PlayedEpisodes> {
  const { loaded, policy, tasks, signal, onWarning } = options;
  const { rollout, evaluation } = loaded.run;
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  const episodes = plannedEpisodes(tasks.length, evaluation.episodes_per_task);
  const tally = new Tally(tasks.length, episodes.length);
  let player: Player | undefined;
  try {
    const opened = await Player.create(loaded, { policy, actors: rollout.concurrency, signal, onWarning });
    player = opened;
    const play = async (index: number): Promise<void> => {
      tally.add(episodes[index], episodeScore(await playValid(opened, options, episodes[index])));
      options.onEpisode({ ...tally.counts, seconds: seconds() });
      tally.giveUpWhereHopeless();
    };
    await inParallel(episodes.length, rollout.concurrency, play, () => opened.close());
    return { played: tally.played, ended: null, seconds: seconds() };
  } catch (error) {
    const ended = signal?.aborted === true ? `stopped by ${String(signal.reason)}` : describeError(error);
    return { played: tally.played, ended, seconds: seconds() };
  } finally {
    await player?.close();
  }
}

/** Repeats an episode that fails for a reason other than the policy. */
async function playValid(
  player: Player,
  { loaded, record, ...options }: PlayOptions,
  episode: PlannedEpisode,
): Promise<EpisodeResult> {
  const { training, environment, rollout } = loaded.run;
  const context: RequestContext = { ...options, seed: training.seed, environment: environment.kind.name };
  for (let attempt = 0; ; attempt++) {
    const result = await player.play(episodeRequest(context, episode, attempt));
    await record(result);
    if (result.status !== 'invalid' || attempt + 1 >= rollout.max_attempts) return result;
  }
}

/** Counts the episodes so far. */
class Tally {
  readonly played: Played;
  readonly counts: Omit<PlayProgress, 'seconds'>;
  private invalidInARow = 0;
  private lastReason: string | undefined;

  constructor(tasks: number, episodes: number) {
    this.played = Array.from({ length: tasks }, () => []);
    this.counts = { done: 0, valid: 0, judged: 0, successes: 0, episodes };
  }

  add({ task, repetition }: PlannedEpisode, score: EpisodeScore): void {
    this.played[task][repetition] = score;
    const isValid = score.status !== 'invalid';
    this.counts.done += 1;
    this.counts.valid += Number(isValid);
    this.counts.judged += Number(isValid && score.success !== null);
    this.counts.successes += Number(score.success);
    this.invalidInARow = isValid ? 0 : this.invalidInARow + 1;
    this.lastReason = score.invalid_reason;
  }

  giveUpWhereHopeless(): void {
    if (this.invalidInARow < INVALID_IN_A_ROW) return;
    throw new Error(`${INVALID_IN_A_ROW} episodes in a row are invalid, at last ${this.lastReason}`);
  }
}

function episodeScore(episode: EpisodeResult): EpisodeScore {
  const { request, status, success, reward, turns, invalidReason } = episode;
  return {
    seed: request.seed,
    status,
    success: status === 'invalid' ? false : success,
    reward,
    turns: turns.length,
    rollout_id: request.rolloutId,
    invalid_reason: invalidReason,
  };
}
