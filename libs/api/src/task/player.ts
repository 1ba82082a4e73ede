import type { PolicyActRequest, RolloutRequest, Trajectory, Turn } from '@ui-rl/contracts';
import {
  leaseOf,
  planEpisodes,
  playRollout,
  SessionEnvironment,
  startSessions,
  type EpisodePlan,
  type PlannedEpisodes,
  type Policy,
} from '@ui-rl/episode';
import type { ComponentRegistry, Log, Sessions } from '@ui-rl/plugin-kit';
import { RETRIES } from '@ui-rl/retry';
import { readCliSettings, type LoadedRunFile, type RunFile } from '@ui-rl/settings';
import { MemoryScreenshots } from './memory-screenshots';

/** A played episode as actors publish it, with its screenshots. */
export interface EpisodeResult extends Trajectory {
  /** The PNG of a screenshot that the episode names by its sha256. */
  screenshot: (sha256: string) => Uint8Array;
}

export interface PlayerOptions {
  /** A `VisionLanguageModel` or any other policy. */
  policy: Policy;
  /** Number of concurrent episodes. */
  actors: number;
  /** Aborts the episodes. */
  signal?: AbortSignal | undefined;
  /** Called with non-fatal problems. */
  onWarning?: ((message: string) => void) | undefined;
  /** Called after each turn of an episode. */
  onTurn?: ((turn: Turn) => void) | undefined;
  /** Called with each new screenshot before the turn that uses it, even if an identical one occurred before. */
  onScreenshot?: ((png: Uint8Array, sha256: string) => void) | undefined;
  /** Overrides environment variables of this process for environments. */
  variables?: Readonly<Record<string, string>> | undefined;
}

/** Plays tasks in environments of this process, at the evaluation temperature. */
export class Player {
  private readonly environments = new Map<string, Promise<Sessions>>();
  private readonly stopping = new AbortController();
  private readonly signal: AbortSignal;
  private readonly plan: EpisodePlan;
  private readonly log: Log;

  private constructor(
    private readonly options: PlayerOptions,
    private readonly run: RunFile,
    private readonly components: ComponentRegistry,
    private readonly planned: PlannedEpisodes,
  ) {
    const { signal } = options;
    this.log = logOf(options);
    this.signal =
      signal === undefined ? this.stopping.signal : AbortSignal.any([this.stopping.signal, signal]);
    this.plan = { ...planned.plan, temperature: run.evaluation.temperature };
  }

  static async create({ run, registry }: LoadedRunFile, options: PlayerOptions): Promise<Player> {
    return new Player(options, run, registry, await planEpisodes(run, registry, logOf(options)));
  }

  /**
   * @throws if the environment cannot start, or if the policy fails for every episode; any other failure yields an
   *   `invalid` episode
   * with the reason
   */
  async play(request: RolloutRequest): Promise<EpisodeResult> {
    const { onTurn, onScreenshot } = this.options;
    const screenshots = new MemoryScreenshots();
    const { leaseMs, deadlineMs } = this.times;
    const sessions = await this.environment(request.task.environment!.kind);
    const played = await playRollout(request, {
      plan: this.plan,
      policy: withImages(this.options.policy, screenshots),
      open: (asked, clock) => SessionEnvironment.open(sessions, asked, clock, { leaseMs, deadlineMs }),
      screenshots,
      warn: (message) => this.log('warn', message),
      actor: request.runId,
      delivery: 1,
      stopping: this.signal,
      restarts: RETRIES.episode.attempts - 1,
      onTurn,
      onScreenshot: ({ png, sha256 }) => onScreenshot?.(png, sha256),
    });
    return Object.assign(played, { screenshot: (sha256: string) => screenshots.png(sha256) });
  }

  /** Aborts the episodes and closes the environments. */
  async close(): Promise<void> {
    this.stopping.abort();
    const started = [...this.environments.values()];
    await Promise.all(started.map(async (each) => (await each.catch(() => undefined))?.close()));
    await this.planned.close();
  }

  private get times(): { deadlineMs: number; leaseMs: number } {
    return { deadlineMs: this.run.environment.deadline_ms, leaseMs: leaseOf(this.run) };
  }

  /** Starts an environment when the first task needs it. */
  private environment(kind: string): Promise<Sessions> {
    const known = this.environments.get(kind);
    if (known !== undefined) return known;
    const chosen = this.run.environment.kind;
    const started = startSessions(
      {
        choice: kind === chosen.name ? chosen : { name: kind },
        maxSessions: this.options.actors,
        deadlineMs: this.times.deadlineMs,
        programs: { chromium: readCliSettings().chromiumBin },
        variables: this.options.variables,
        log: this.log,
      },
      this.components,
    );
    this.environments.set(kind, started);
    return started;
  }
}

function logOf({ onWarning }: PlayerOptions): Log {
  return (level, message) => {
    if (level === 'warn' || level === 'error') onWarning?.(message);
  };
}

/** Adds the bytes of every image in a prompt, including images of earlier turns. */
function withImages(policy: Policy, screenshots: MemoryScreenshots): Policy {
  const bytesOf = (image: Uint8Array | string) =>
    typeof image === 'string' ? screenshots.png(image) : image;
  return {
    saysTokens: policy.saysTokens,
    modelImage: (screenshot, clock) => policy.modelImage(screenshot, clock),
    act: ({ images, ...request }: PolicyActRequest, clock) =>
      policy.act({ ...request, images: images.map(bytesOf) }, clock),
  };
}
