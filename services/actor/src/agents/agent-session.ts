import { setMaxListeners } from 'node:events';
import { readAction, type Action } from '@ui-rl/actions';
import type { PlayedEnvironment, RolloutRequest, Screenshot, Task, Trajectory } from '@ui-rl/contracts';
import {
  Clock,
  EpisodeFailure,
  goalOf,
  judge,
  PhaseClock,
  playedEnvironment,
  Screenshots,
  Stopped,
  trajectory,
  type EpisodeEnvironment,
  type RolloutContext,
  type State,
} from '@ui-rl/episode';
import {
  ApiError,
  type ComputerUse,
  type PolicyAnswer,
  type PolicyRequest,
  type ServedModel,
  type ServedPolicy,
} from '@ui-rl/openai-api';
import { describeError, startTimer } from '@ui-rl/retry';
import { AgentTurns } from './agent-turns';
import { deferred } from './deferred';
import { sessionComputer } from './session-computer';

/** An agent's request for a session. */
export interface SessionWish {
  /**
   * `service`: an env service holds the environment, which the agent operates through the session; `own`: the agent
   * provides it, and reports its state.
   */
  environment: 'service' | 'own';
}

/** The effect of actions. */
export interface Acted {
  /** Result of the last executed action. */
  outcome: string;
  /** Number of executed actions. */
  executed: number;
  /** Whether the environment ended the episode. */
  done: boolean;
}

type Context = Omit<RolloutContext, 'restarts'>;

/**
 * An episode that an outside agent plays: it queries the policy freely, and each answer becomes a turn with exactly
 * the tokens that were read and sampled. The episode ends when the agent says so, or after `rollout.turn_timeout_ms`
 * without a request.
 */
export class AgentSession implements ServedPolicy {
  /** The result of the rollout; rejects if it has to be played again. */
  readonly trajectory: Promise<Trajectory>;
  readonly computer: ComputerUse;
  private readonly startedAt = new Date();
  private readonly turns: AgentTurns;
  private readonly over = new AbortController();
  private readonly finished = deferred<Trajectory>();
  private readonly stored = deferred<void>();
  private idle: NodeJS.Timeout | undefined;
  private ending: Promise<Trajectory> | undefined;
  private acted = 0;
  /** For the record; undefined if the agent brings its own environment. */
  private readonly played: PlayedEnvironment | undefined;
  /** The actions in progress, and those queued after them. */
  private carrying: Promise<unknown> = Promise.resolve();
  /** Number of the agent's calls in progress, during which the idle timer is suspended. */
  private inFlight = 0;

  private constructor(
    readonly id: string,
    readonly request: RolloutRequest,
    private readonly context: Context,
    private readonly clock: Clock,
    private readonly screenshots: Screenshots,
    private readonly environment: EpisodeEnvironment | undefined,
    private readonly phases: PhaseClock,
  ) {
    this.played = environment === undefined ? undefined : playedEnvironment(request, environment);
    const { plan, policy, delivery, stopping } = context;
    this.trajectory = this.finished.promise;
    this.turns = new AgentTurns({
      request,
      plan,
      policy,
      clock,
      screenshots,
      playId: delivery === 1 ? '' : `~${delivery}`,
    });
    this.computer = sessionComputer(plan, policy, clock);
    if (environment !== undefined) this.turns.see(environment.firstFrame);
    setMaxListeners(0, stopping);
    stopping.addEventListener('abort', () => this.stop(new Stopped()), { once: true });
    const episode = startTimer(clock.leftMs, () =>
      this.expire(`took longer than ${plan.episodeTimeoutMs} ms`),
    );
    this.over.signal.addEventListener('abort', () => clearTimeout(episode), { once: true });
    this.touch();
    if (stopping.aborted) this.stop(new Stopped());
  }

  /** @throws EpisodeFailure if the environment cannot be opened, Stopped */
  static async open(
    id: string,
    request: RolloutRequest,
    wish: SessionWish,
    context: Context,
  ): Promise<AgentSession> {
    const clock = new Clock('the session', context.plan.episodeTimeoutMs, context.stopping);
    const phases = new PhaseClock(context.onPhase);
    phases.begin('opening');
    const environment = wish.environment === 'own' ? undefined : await context.open(request, clock);
    phases.begin('playing');
    const screenshots = new Screenshots(context.screenshots);
    return new AgentSession(id, request, context, clock, screenshots, environment, phases);
  }

  /** The task, with its goal from the environment if the task takes it from there. */
  get task(): Task {
    const { request, environment } = this;
    if (environment === undefined) return request.task;
    return { ...request.task, description: goalOf(request.task, environment.initialState) };
  }

  /** The agent's current view of its environment; undefined if it provides its own. */
  get screenshot(): Pick<Screenshot, 'png' | 'sha256' | 'text'> | undefined {
    return this.environment === undefined ? undefined : this.turns.screen;
  }

  get maxTurns(): number {
    return this.turns.most;
  }

  /** Number of answers so far. */
  get calls(): number {
    return this.turns.count;
  }

  async models(): Promise<ServedModel[]> {
    return [
      {
        id: 'latest',
        created: Math.floor(this.startedAt.getTime() / 1000),
        run: this.request.runId,
        step: 0,
      },
    ];
  }

  async answer(request: PolicyRequest): Promise<PolicyAnswer> {
    this.mustBeOpen();
    this.turns.check(request);
    try {
      return await this.during(this.turns.answer(request));
    } catch (error) {
      throw toldOf(error);
    }
  }

  async countTokens(request: Pick<PolicyRequest, 'prompt'>): Promise<number> {
    this.mustBeOpen();
    try {
      return await this.during(this.turns.countTokens(request));
    } catch (error) {
      throw toldOf(error);
    }
  }

  /** Executes actions in its environment, in order, until one is not `ok` or the environment ends the episode. */
  async act(actions: readonly unknown[]): Promise<Acted> {
    this.mustBeOpen();
    const { environment } = this;
    if (environment === undefined)
      throw new ApiError(400, 'the session has no environment: the agent brings its own', 'no_environment');
    const read = actions.map(actionOf);
    const before = this.carrying;
    const carrying = (async () => {
      await before;
      this.mustBeOpen();
      return this.carryOut(read, environment);
    })();
    // Sequentially: actions are numbered, and one screen shows the result of all.
    this.carrying = carrying.catch(() => undefined);
    try {
      return await this.during(carrying);
    } catch (error) {
      this.fail(error);
      throw new ApiError(503, `the environment has failed: ${describeError(error)}`, 'session_over');
    }
  }

  private async carryOut(actions: readonly Action[], environment: EpisodeEnvironment): Promise<Acted> {
    const done: Acted = { outcome: 'ok', executed: 0, done: false };
    for (const action of actions) {
      const step = await this.clock.race(
        environment.step(`${this.request.rolloutId}/a${this.acted}`, action),
      );
      this.acted += 1;
      done.executed += 1;
      done.outcome = step.outcome;
      done.done = step.done;
      this.turns.did(action, step.outcome);
      this.turns.see(step.screenshot);
      if (step.done || step.outcome !== 'ok') break;
    }
    return done;
  }

  /**
   * Ends the episode and judges it.
   *
   * @param state of an environment that the agent provides; that of a service is queried
   */
  end(state: State | undefined): Promise<Trajectory> {
    if (this.environment !== undefined && state !== undefined) {
      throw new ApiError(
        400,
        'state: the environment of the session says what its state is',
        'invalid_value',
        'state',
      );
    }
    this.mustBeOpen();
    clearTimeout(this.idle);
    this.ending = this.judged(state ?? null).catch((error: unknown) => {
      if (!(error instanceof EpisodeFailure)) throw error;
      return this.invalid(`${error.code}: ${error.message}`);
    });
    this.ending.then(
      (played) => this.finish(played),
      (error: unknown) => this.stop(error),
    );
    return this.ending;
  }

  /** Abandons the episode: it is discarded, and played again. */
  giveUp(reason: string): void {
    this.mustBeOpen();
    this.finish(this.invalid(`agent: ${reason}`));
  }

  /** Marks its trajectory as published. */
  published(): void {
    this.stored.resolve();
  }

  /** Until then the judged episode could still be lost. */
  get isPublished(): Promise<void> {
    return this.stored.promise;
  }

  private async judged(stated: State): Promise<Trajectory> {
    const { request, context, clock, screenshots, environment } = this;
    const { turns, status } = this.turns.done();
    const { phases } = this;
    phases.begin('closing');
    const stateAfter = environment === undefined ? stated : await clock.race(environment.close());
    if (turns.length === 0)
      throw new EpisodeFailure('agent', 'the session ended before an answer of the policy reached the agent');
    const stateBefore = environment?.initialState ?? null;
    const finalScreenshot = this.turns.screen!.sha256;
    const played = { request, status, turns, finalScreenshot, stateBefore, stateAfter, screenshots };
    phases.begin('judging');
    const verdict = await judge(played, context.plan, clock);
    phases.begin('storing');
    await clock.race(screenshots.finish());
    return trajectory(request, context.actor, this.startedAt, {
      status,
      ...verdict,
      finalScreenshot,
      times: phases.read(),
      ...this.environmentRecord,
      ...(stateBefore === null ? {} : { initialState: stateBefore }),
      ...(stateAfter === null ? {} : { finalState: stateAfter }),
    });
  }

  private invalid(invalidReason: string): Trajectory {
    this.context.warn(`${this.request.rolloutId} is invalid: ${invalidReason}`);
    const { turns } = this.turns.done();
    return trajectory(this.request, this.context.actor, this.startedAt, {
      status: 'invalid',
      invalidReason,
      turns,
      ...this.environmentRecord,
    });
  }

  private get environmentRecord(): Pick<Trajectory, 'environment'> {
    return this.played === undefined ? {} : { environment: this.played };
  }

  private fail(error: unknown): void {
    if (this.over.signal.aborted) return;
    if (error instanceof EpisodeFailure) this.finish(this.invalid(`${error.code}: ${error.message}`));
    else this.stop(error);
  }

  private expire(why: string): void {
    if (!this.over.signal.aborted && this.ending === undefined)
      this.finish(this.invalid(`deadline: the session ${why}`));
  }

  private finish(played: Trajectory): void {
    this.letGo();
    this.finished.resolve(played);
  }

  private stop(error: unknown): void {
    this.letGo();
    this.finished.reject(error);
  }

  private letGo(): void {
    clearTimeout(this.idle);
    if (!this.over.signal.aborted && this.ending === undefined) this.environment?.discard();
    this.over.abort();
  }

  private mustBeOpen(): void {
    if (this.ending === undefined && !this.over.signal.aborted) return;
    throw new ApiError(404, `the session ${this.id} has ended`, 'session_over');
  }

  /** Suspends the idle timer during a call of the agent, however long it takes. */
  private async during<T>(call: Promise<T>): Promise<T> {
    this.inFlight += 1;
    clearTimeout(this.idle);
    try {
      return await call;
    } finally {
      this.inFlight -= 1;
      this.touch();
    }
  }

  /** Restarts the idle timer: an agent without requests for that long is gone. */
  private touch(): void {
    clearTimeout(this.idle);
    if (this.inFlight > 0 || this.over.signal.aborted || this.ending !== undefined) return;
    const { turnTimeoutMs } = this.context.plan;
    this.idle = startTimer(turnTimeoutMs, () => this.expire(`was asked nothing for ${turnTimeoutMs} ms`));
  }
}

/** The agent's view of a policy failure. */
function toldOf(error: unknown): Error {
  if (error instanceof Stopped) return new ApiError(503, 'the session ends: its actor stops', 'session_over');
  if (!(error instanceof EpisodeFailure)) return error as Error;
  const { code, message } = error;
  if (code === 'prompt_too_long') return new ApiError(400, message, 'context_length_exceeded', 'messages');
  return code === 'bad_request' ? new ApiError(400, message) : new ApiError(503, message, code);
}

function actionOf(value: unknown, index: number): Action {
  const read = readAction(value);
  if (read.ok) return read.action;
  throw new ApiError(400, `actions[${index}]: ${read.correction}`, 'invalid_value', `actions[${index}]`);
}
