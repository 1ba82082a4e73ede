import type {
  EpisodePhase,
  IdleTimes,
  PlayedEnvironment,
  RolloutRequest,
  Screenshot,
  Trajectory,
  Turn,
} from '@ui-rl/contracts';
import { Clock } from './clock';
import type { EpisodeEnvironment, SessionUse, State } from './environment';
import { EpisodeFailure } from './failure';
import { judge } from './judge';
import { PhaseClock } from './phase-clock';
import type { EpisodePlan } from './plan';
import { type EpisodeProgress, playTurns } from './play';
import { playedEnvironment } from './played-environment';
import type { Policy } from './policy';
import { Screenshots, type ScreenshotStore } from './screenshots';
import { roundMs } from './turn';

export interface RolloutContext {
  plan: EpisodePlan;
  policy: Policy;
  /** Opens the environment of a request. Throws an `EpisodeFailure` if that is impossible. */
  open(request: RolloutRequest, clock: Clock): Promise<EpisodeEnvironment>;
  screenshots: ScreenshotStore;
  warn(message: string): void;
  /** Name of this actor. */
  actor: string;
  /** 1 for the first delivery of the request. */
  delivery: number;
  /** Aborts the episode. */
  stopping: AbortSignal;
  /** Maximum number of restarts after a lost session. */
  restarts: number;
  /** Time that the slot was free before, in ms. Default 0. */
  idleMs?: number;
  /** Called when a phase of the episode begins; a restarted episode begins with `opening` again. */
  onPhase?: ((phase: EpisodePhase) => void) | undefined;
  /** Called after each turn; a restarted episode begins with the first turn again. */
  onTurn?: ((turn: Turn) => void) | undefined;
  /** Called with the screenshot of the first frame and of each action, even if an identical one occurred before. */
  onScreenshot?: ((screenshot: Screenshot) => void) | undefined;
}

/**
 * Plays one rollout, restarts it from the first frame if its session is lost, and returns its trajectory with all
 * screenshots stored. A failure of the infrastructure yields an `invalid` trajectory with the reason.
 *
 * @throws Stopped if the signal aborts
 */
export async function playRollout(request: RolloutRequest, context: RolloutContext): Promise<Trajectory> {
  const { plan, restarts } = context;
  const startedAt = new Date();
  const began = performance.now();
  const clock = new Clock('the episode', plan.episodeTimeoutMs, context.stopping);
  const screenshots = new Screenshots(context.screenshots);
  for (let restart = 0; ; restart++) {
    const attempt = new Attempt(request, context, clock, screenshots);
    try {
      const played = await attempt.play(restart);
      attempt.phases.begin('storing');
      await clock.race(screenshots.finish());
      const idle = idleTimes(context, began, attempt.use);
      const times = attempt.phases.read();
      return trajectory(request, context.actor, startedAt, { ...played, idle, times });
    } catch (error) {
      if (!(error instanceof EpisodeFailure)) throw error;
      if (error.restartable && restart < restarts) {
        context.warn(`${request.rolloutId} begins again: ${error.message}`);
        continue;
      }
      context.warn(`${request.rolloutId} is invalid: ${error.code}: ${error.message}`);
      await screenshots.finish();
      return trajectory(request, context.actor, startedAt, {
        status: 'invalid',
        invalidReason: `${error.code}: ${error.message}`,
        turns: attempt.progress?.turns ?? [],
        finalScreenshot: attempt.progress?.screenshot.sha256,
        environment: attempt.environment,
      });
    }
  }
}

type Played = Partial<Trajectory> & Pick<Trajectory, 'status' | 'turns'>;

function idleTimes({ idleMs = 0 }: RolloutContext, began: number, use: SessionUse | undefined): IdleTimes {
  return {
    actorMs: roundMs(idleMs),
    playedMs: roundMs(performance.now() - began),
    ...(use === undefined ? {} : { sessionMs: use.openMs, sessionIdleMs: use.idleMs }),
  };
}

/** A trajectory; without verdict and reward unless `played` contains them. */
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

/** One attempt at an episode, from its first frame. */
class Attempt {
  progress: EpisodeProgress | null = null;
  /** Usage of its session, once that is closed. */
  use: SessionUse | undefined;
  environment: PlayedEnvironment | undefined;
  readonly phases: PhaseClock;

  constructor(
    private readonly request: RolloutRequest,
    private readonly context: RolloutContext,
    private readonly clock: Clock,
    private readonly screenshots: Screenshots,
  ) {
    this.phases = new PhaseClock(context.onPhase);
  }

  async play(restart: number): Promise<Played> {
    const { request, clock, screenshots, phases } = this;
    const { plan, policy, delivery, onTurn, onScreenshot } = this.context;
    const show = (screenshot: Screenshot): void => {
      screenshots.add(screenshot);
      onScreenshot?.(screenshot);
    };
    phases.begin('opening');
    const environment = await this.context.open(request, clock);
    let closed = false;
    try {
      this.environment = playedEnvironment(request, environment);
      phases.begin('playing');
      show(environment.firstFrame);
      const progress: EpisodeProgress = { turns: [], screenshot: environment.firstFrame, states: [] };
      this.progress = progress;
      const playId = delivery === 1 && restart === 0 ? '' : `~${delivery}.${restart}`;
      const status = await playTurns(
        {
          request,
          plan,
          policy,
          clock,
          environment,
          playId,
          storeScreenshot: show,
          onTurn,
        },
        progress,
      );
      phases.begin('closing');
      const stateAfter = await environment.close();
      closed = true;
      this.use = environment.use;
      phases.begin('judging');
      return await this.judged(status, progress, environment.initialState, stateAfter);
    } finally {
      if (!closed) environment.discard();
    }
  }

  private async judged(
    status: 'completed' | 'truncated',
    { turns, screenshot, states }: EpisodeProgress,
    stateBefore: State,
    stateAfter: State,
  ): Promise<Played> {
    const { request, screenshots, clock } = this;
    const finalScreenshot = screenshot.sha256;
    const finalText = screenshot.text;
    const played = {
      ...{ request, status, turns, finalScreenshot, finalText },
      ...{ stateBefore, stateAfter, states, screenshots },
    };
    return {
      status,
      ...(await judge(played, this.context.plan, clock)),
      environment: this.environment,
      finalScreenshot,
      ...(stateBefore === null ? {} : { initialState: stateBefore }),
      ...(stateAfter === null ? {} : { finalState: stateAfter }),
    };
  }
}
