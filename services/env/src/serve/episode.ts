import { randomUUID } from 'node:crypto';
import type { RolloutRequest, Screenshot, Turn } from '@ui-rl/contracts';
import { Clock, EpisodeFailure, goalOf, judge, Screenshots, Stopped } from '@ui-rl/episode';
import { isRecord, readAction, type LoadedTask, type Reply, type Sessions } from '@ui-rl/plugin-kit';
import { ServeError } from './serve-error';
import type { ServedWorld } from './world';

type State = Record<string, unknown> | null;

/** The result of an episode. */
interface Verdict {
  status: 'completed' | 'truncated';
  success: boolean | null;
  reward: number;
  rewards: Readonly<Record<string, number>>;
}

export interface EpisodeStart {
  id: string;
  task: LoadedTask;
  seed: number;
  /**
   * Whether the task's turns are counted and end with a verdict; otherwise the episode continues until it is ended.
   */
  isJudged: boolean;
}

/** An episode that an outside client plays. Concurrent requests are processed sequentially. */
export class ServedEpisode {
  readonly startedAt = new Date();
  verdict: Verdict | undefined;
  /** Whether the environment has failed, or the episode was idle for too long, so that it cannot continue. */
  isLost = false;
  /** Result of the last action. */
  outcome = 'ok';
  steps = 0;
  private readonly turns: Turn[] = [];
  private readonly kept = new Map<string, Uint8Array>();
  private readonly screenshots = new Screenshots({
    put: async (png, sha256) => this.kept.set(sha256, png),
    get: async (sha256) => this.kept.get(sha256) ?? null,
  });
  private line: Promise<unknown> = Promise.resolve();
  private finalState: State = null;

  private constructor(
    private readonly start: EpisodeStart,
    private readonly world: ServedWorld,
    private readonly sessions: Sessions,
    private readonly sessionId: string,
    private readonly stateBefore: State,
    private shown: Screenshot,
    private readonly stopping: AbortSignal,
  ) {
    this.screenshots.add(shown);
  }

  /** @throws ServeError */
  static async open(start: EpisodeStart, world: ServedWorld, stopping: AbortSignal): Promise<ServedEpisode> {
    const { deadline_ms: deadlineMs, lease_ms: leaseMs } = world.run.environment;
    const sessions = world.sessionsOf(start.task);
    const { task, seed } = start;
    const environment = { kind: world.run.environment.kind.name, options: {} };
    const opened = valueOf(
      await sessions.open({ task: { environment, ...task }, seed, leaseMs, deadlineMs }),
    );
    const { sessionId, screenshot, state } = opened;
    return new ServedEpisode(start, world, sessions, sessionId, state, screenshot, stopping);
  }

  get id(): string {
    return this.start.id;
  }

  get task(): LoadedTask {
    return this.start.task;
  }

  get screenshot(): Screenshot {
    return this.shown;
  }

  /** The goal as a policy reads it. */
  get goal(): string {
    return goalOf(this.task, this.stateBefore);
  }

  get isOver(): boolean {
    return this.verdict !== undefined;
  }

  /** Executes an action; the last one brings the verdict. @throws ServeError */
  act(action: unknown): Promise<void> {
    return this.inLine(async () => {
      if (this.isOver) throw new ServeError('over', 'the episode is over: reset');
      const read = readAction(action);
      if (!read.ok) throw new ServeError('bad_request', read.correction, 'action');
      const before = this.shown.sha256;
      const { screenshot, outcome, done } = await this.step(read.action);
      this.see(screenshot);
      this.outcome = outcome;
      this.steps += 1;
      if (!this.start.isJudged) return;
      this.turns.push(turnOf(this.turns.length, read.action, before, outcome));
      const isLast = this.steps >= Math.min(this.task.maxSteps ?? Infinity, this.world.plan.maxTurns);
      if (done || isLast) await this.finish(done ? 'completed' : 'truncated');
    });
  }

  /** The current screen, or the screen after a delay; does not count as a turn. @throws ServeError */
  look(seconds: number): Promise<Screenshot> {
    return this.inLine(async () => {
      if (this.isOver) return this.shown;
      const { screenshot } = await this.step({ action: 'wait', seconds });
      this.see(screenshot);
      return screenshot;
    });
  }

  /** The environment's current state, as far as it reports it during the episode. @throws ServeError */
  state(): Promise<State> {
    return this.inLine(async () => {
      if (this.isOver) return this.finalState;
      const { deadline_ms: deadlineMs } = this.world.run.environment;
      return this.alive(await this.sessions.inspect(this.sessionId, deadlineMs));
    });
  }

  /** Ends it in any state. Never throws. */
  async discard(): Promise<void> {
    await this.inLine(() => this.sessions.closeSession(this.sessionId)).catch(() => undefined);
  }

  private async step(action: object) {
    const { deadline_ms: deadlineMs } = this.world.run.environment;
    const { sessionId } = this;
    return this.alive(await this.sessions.step({ sessionId, stepId: randomUUID(), action, deadlineMs }));
  }

  /** After any failure other than these, the session is over. */
  private alive<T>(reply: Reply<T>): T {
    this.isLost ||= !reply.ok && !['busy', 'bad_request'].includes(reply.error.code);
    return valueOf(reply);
  }

  private see(screenshot: Screenshot): void {
    this.shown = screenshot;
    if (this.start.isJudged) this.screenshots.add(screenshot);
  }

  private async finish(status: Verdict['status']): Promise<void> {
    const { state } = this.alive(await this.sessions.closeSession(this.sessionId));
    const { plan } = this.world;
    const { task, seed } = this.start;
    const played = {
      // Judging reads no other field of a request.
      request: { task, seed } as RolloutRequest,
      status,
      turns: this.turns,
      finalScreenshot: this.shown.sha256,
      stateBefore: this.stateBefore,
      stateAfter: state,
      screenshots: this.screenshots,
    };
    this.finalState = state;
    try {
      const clock = new Clock('the verdict', plan.turnTimeoutMs, this.stopping);
      const { success, reward, rewards } = await judge(played, plan, clock);
      this.verdict = { status, success, reward, rewards };
    } catch (error) {
      if (error instanceof EpisodeFailure) throw new ServeError('failed', `${error.code}: ${error.message}`);
      if (error instanceof Stopped) throw new ServeError('failed', 'the server ends');
      throw error;
    } finally {
      this.kept.clear();
    }
  }

  private inLine<T>(work: () => Promise<T>): Promise<T> {
    const done = this.line.then(work);
    this.line = done.catch(() => undefined);
    return done;
  }
}

/** An environment's failure in the form for clients. */
function valueOf<T>(reply: Reply<T>): T {
  if (reply.ok) return reply.value;
  const { code, message } = reply.error;
  if (code === 'capacity') throw new ServeError('capacity', message);
  if (code === 'no_session') throw new ServeError('not_found', message);
  throw new ServeError('failed', `${code}: ${message}`);
}

/** A turn of a client whose tokens are unknown. */
function turnOf(index: number, action: object, screenshot: string, outcome: string): Turn {
  return {
    index,
    promptTokenIds: [],
    promptImages: [],
    imageTokens: 0,
    tokenIds: [],
    logprobs: [],
    temperature: 0,
    policyVersion: 0,
    adapterDigest: '',
    text: JSON.stringify(action),
    actions: isRecord(action) ? [action] : [],
    screenshot,
    outcome,
    policyMs: 0,
    envMs: 0,
  };
}
