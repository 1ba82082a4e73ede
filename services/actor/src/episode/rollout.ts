import { type BusService, describeError } from '@ui-rl/bus';
import type { RolloutRequest, Screenshot, Trajectory } from '@ui-rl/contracts';
import { verify } from '@ui-rl/plugin-kit';
import { Clock } from './clock';
import { EnvironmentClient } from './environment';
import { EpisodeFailure } from './failure';
import { type EpisodePlan, TIMEOUTS, type Timeouts } from './plan';
import type { ModelImages } from './model-images';
import { type EpisodeProgress, playTurns } from './play';

export interface RolloutContext {
  bus: BusService;
  plan: EpisodePlan;
  modelImages: ModelImages;
  /** Name of this actor. */
  actor: string;
  /** 1 for the first delivery of the request. */
  delivery: number;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
  timeouts?: Timeouts;
}

/**
 * Plays one rollout, from the first frame again where a session is lost, and returns its trajectory with every
 * screenshot stored. What fails in the infrastructure gives an `invalid` trajectory with the reason.
 *
 * @throws Stopped where the service is asked to stop
 */
export async function playRollout(request: RolloutRequest, context: RolloutContext): Promise<Trajectory> {
  const { plan, bus } = context;
  const timeouts = context.timeouts ?? TIMEOUTS;
  const startedAt = new Date();
  const clock = new Clock('the episode', plan.episodeTimeoutMs, context.stopping);
  const uploads = new Uploads(bus);
  for (let restart = 0; ; restart++) {
    const attempt = new Attempt(request, context, timeouts, clock, uploads);
    try {
      const played = await attempt.play(restart);
      await clock.race(uploads.finish());
      return trajectory(request, context.actor, startedAt, played);
    } catch (error) {
      if (!(error instanceof EpisodeFailure)) throw error;
      if (error.restartable && restart < timeouts.restarts) {
        bus.logger.warn(`${request.rolloutId} begins again: ${error.message}`);
        continue;
      }
      bus.logger.warn(`${request.rolloutId} is invalid: ${error.code}: ${error.message}`);
      await uploads.finish();
      return trajectory(request, context.actor, startedAt, {
        status: 'invalid',
        invalidReason: `${error.code}: ${error.message}`,
        turns: attempt.progress?.turns ?? [],
        finalScreenshot: attempt.progress?.screenshot.sha256,
      });
    }
  }
}

type Played = Partial<Trajectory> & Pick<Trajectory, 'status' | 'turns'>;

/** A trajectory without verdict and reward unless `played` holds them. */
export function trajectory(
  request: RolloutRequest,
  actor: string,
  startedAt: Date,
  played: Played,
): Trajectory {
  return {
    request,
    success: null,
    reward: 0,
    rewards: {},
    actor,
    startedAt: startedAt.toISOString(),
    finishedAt: new Date().toISOString(),
    ...played,
  };
}

/** One try at an episode, from its first frame. */
class Attempt {
  progress: EpisodeProgress | null = null;

  constructor(
    private readonly request: RolloutRequest,
    private readonly context: RolloutContext,
    private readonly timeouts: Timeouts,
    private readonly clock: Clock,
    private readonly uploads: Uploads,
  ) {}

  async play(restart: number): Promise<Played> {
    const { request, timeouts, clock, uploads } = this;
    const { bus, plan, modelImages, delivery } = this.context;
    const environment = await EnvironmentClient.open(bus, request, clock, timeouts);
    let closed = false;
    try {
      uploads.add(environment.firstFrame);
      const progress: EpisodeProgress = { turns: [], screenshot: environment.firstFrame };
      this.progress = progress;
      const playId = delivery === 1 && restart === 0 ? '' : `~${delivery}.${restart}`;
      const status = await playTurns(
        {
          bus,
          request,
          plan,
          timeouts,
          clock,
          environment,
          modelImages,
          playId,
          keep: (image) => uploads.add(image),
        },
        progress,
      );
      const state = await environment.close();
      closed = true;
      return await this.judge(status, progress, state);
    } finally {
      if (!closed) environment.discard();
    }
  }

  private async judge(
    status: 'completed' | 'truncated',
    progress: EpisodeProgress,
    state: Record<string, unknown> | null,
  ): Promise<Played> {
    const { task } = this.request;
    const success = verify(task.checks, state);
    const input = { task, success, status, turns: progress.turns.length, finalState: state };
    const rewards: Record<string, number> = {};
    for (const plugin of this.context.plan.rewards) {
      rewards[plugin.name] = await scored(plugin.name, async () => plugin.score(input));
    }
    return {
      status,
      success,
      rewards,
      reward: Object.values(rewards).reduce((sum, part) => sum + part, 0),
      turns: progress.turns,
      finalScreenshot: progress.screenshot.sha256,
      ...(state === null ? {} : { finalState: state }),
    };
  }
}

async function scored(name: string, score: () => Promise<number>): Promise<number> {
  let part: unknown;
  try {
    part = await score();
  } catch (error) {
    throw new EpisodeFailure('reward', `reward plugin "${name}" failed: ${describeError(error)}`);
  }
  if (typeof part === 'number' && Number.isFinite(part)) return part;
  throw new EpisodeFailure(
    'reward',
    `reward plugin "${name}" gave ${String(part)}, expected a finite number`,
  );
}

/** Screenshots on their way into the blob store, while the episode goes on. */
class Uploads {
  private readonly pending = new Map<string, Promise<unknown>>();

  constructor(private readonly bus: BusService) {}

  add({ png, sha256 }: Screenshot): void {
    if (this.pending.has(sha256)) return;
    const upload = this.bus.blobs.put(png, sha256);
    upload.catch(() => undefined);
    this.pending.set(sha256, upload);
  }

  async finish(): Promise<void> {
    await Promise.all(this.pending.values());
  }
}
