import { instantiate } from '@ui-rl/bus';
import {
  samplingSeed,
  Task,
  type PolicyActRequest,
  type RolloutRequest,
  type Trajectory,
} from '@ui-rl/contracts';
import {
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
import { loadRunFile, readCliSettings, type RunFile, type RunFileOptions } from '@ui-rl/settings';
import { ASSUMED } from '../run/assumed';
import { MemoryScreenshots } from './memory-screenshots';

export interface TaskOptions {
  /** Who answers: a `VisionLanguageModel`, or anything else that does. */
  policy: Policy;
  /**
   * How the episode is played and judged: path of a run file, or its options as an object. What concerns episodes counts as in an
   * evaluation: `model.prompt`, `model.action_format`, `environment`, `rollout`, `evaluation.temperature`, `verifier`, `rewards`.
   */
  runFile?: string | RunFileOptions;
  /** Seeds the start of the environment and the sampler. Default 0. */
  seed?: number;
  /** Ends it: the promise rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Called with what goes wrong and does not end it. */
  onWarning?: (message: string) => void;
}

/** An episode that was played, as actors publish it, with its screenshots. */
export interface EpisodeResult extends Trajectory {
  /** The PNG of a screenshot that the episode names by its sha256. */
  screenshot: (sha256: string) => Uint8Array;
}

const NAME = 'run-task';

/** Plays tasks in environments of this process. */
export class Player {
  private readonly environments = new Map<string, Promise<Sessions>>();
  private readonly stopping = new AbortController();
  private readonly signal: AbortSignal;
  private readonly plan: EpisodePlan;
  private readonly log: Log;

  private constructor(
    private readonly options: TaskOptions,
    private readonly run: RunFile,
    private readonly components: ComponentRegistry,
    private readonly actors: number,
    private readonly planned: PlannedEpisodes,
  ) {
    const { signal } = options;
    this.log = logOf(options);
    this.signal =
      signal === undefined ? this.stopping.signal : AbortSignal.any([this.stopping.signal, signal]);
    this.plan = { ...planned.plan, temperature: run.evaluation.temperature };
  }

  /** @throws SettingsError with everything that is wrong with the run file */
  static async create(options: TaskOptions, actors: number): Promise<Player> {
    const { runFile = {} } = options;
    const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
    const { run, registry } = await loadRunFile({ ...source, assumed: ASSUMED }, readCliSettings().plugins);
    return new Player(options, run, registry, actors, await planEpisodes(run, registry, logOf(options)));
  }

  /** Throws where the environment cannot be started; what fails once it runs gives an `invalid` episode with the reason. */
  async play(task: string | Task, place: number): Promise<EpisodeResult> {
    const screenshots = new MemoryScreenshots();
    const request = this.request(task, place);
    const { leaseMs, deadlineMs } = this.times;
    const sessions = await this.environment(request.task.environment!.kind);
    const played = await playRollout(request, {
      plan: this.plan,
      policy: withImages(this.options.policy, screenshots),
      open: (asked, clock) => SessionEnvironment.open(sessions, asked, clock, { leaseMs, deadlineMs }),
      screenshots,
      warn: (message) => this.log('warn', message),
      actor: NAME,
      delivery: 1,
      stopping: this.signal,
      restarts: RETRIES.episode.attempts - 1,
    });
    return Object.assign(played, { screenshot: (sha256: string) => screenshots.png(sha256) });
  }

  /** Ends what is being played, and the environments. */
  async close(): Promise<void> {
    this.stopping.abort();
    const started = [...this.environments.values()];
    await Promise.all(started.map(async (each) => (await each.catch(() => undefined))?.close()));
    await this.planned.close();
  }

  private get times(): { deadlineMs: number; leaseMs: number } {
    const { deadline_ms: deadlineMs, lease_ms: leaseMs } = this.run.environment;
    return { deadlineMs, leaseMs };
  }

  private request(given: string | Task, place: number): RolloutRequest {
    const { seed = 0 } = this.options;
    const groupId = `${NAME}-${place}`;
    return {
      runId: NAME,
      rolloutId: `${groupId}-r0`,
      groupId,
      groupIndex: place,
      indexInGroup: 0,
      groupSize: 1,
      attempt: 0,
      purpose: 'eval',
      task: this.task(given),
      seed: seed + place,
      samplingSeed: samplingSeed(seed, NAME, String(place)),
      policy: 'latest',
    };
  }

  /** A sentence becomes the task of the first source that knows it. */
  private task(given: string | Task): Task {
    const plain = typeof given === 'string' ? { description: given } : given;
    const read = instantiate(plain, Task);
    if (!read.ok) throw new Error(`the task makes no sense: ${read.reason}`);
    const task = read.value;
    const known = task.environment === undefined ? this.components.resolveTask(task.description) : null;
    const environment = { kind: this.run.environment.kind.name, options: {} };
    const words = known === null ? {} : { description: known.description };
    return Object.assign(new Task(), { environment }, known, plain, words);
  }

  /** Environments start when a task needs them. */
  private environment(kind: string): Promise<Sessions> {
    const known = this.environments.get(kind);
    if (known !== undefined) return known;
    const chosen = this.run.environment.kind;
    const started = startSessions(
      {
        choice: kind === chosen.name ? chosen : { name: kind },
        maxSessions: this.actors,
        deadlineMs: this.times.deadlineMs,
        programs: { chromium: readCliSettings().chromiumBin },
        log: this.log,
      },
      this.components,
    );
    this.environments.set(kind, started);
    return started;
  }
}

function logOf({ onWarning }: TaskOptions): Log {
  return (level, message) => {
    if (level === 'warn' || level === 'error') onWarning?.(message);
  };
}

/** Has every image of a prompt as bytes, those of earlier turns too. */
function withImages(policy: Policy, screenshots: MemoryScreenshots): Policy {
  const bytesOf = (image: Uint8Array | string) =>
    typeof image === 'string' ? screenshots.png(image) : image;
  return {
    modelImage: (screenshot, clock) => policy.modelImage(screenshot, clock),
    act: ({ images, ...request }: PolicyActRequest, clock) =>
      policy.act({ ...request, images: images.map(bytesOf) }, clock),
  };
}
