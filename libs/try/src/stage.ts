import type { Action } from '@ui-rl/actions';
import type { Reply, Screenshot, Task } from '@ui-rl/contracts';
import { startSessions } from '@ui-rl/episode';
import type { Survey, Log, Point, Sessions, StepOutcome } from '@ui-rl/plugin-kit';
import { readCliSettings, type LoadedRunFile } from '@ui-rl/settings';
import { TryFailure } from './failure';

export interface StageOptions {
  loaded: LoadedRunFile;
  /** Overrides environment variables of this process for environments. */
  variables: Readonly<Record<string, string>>;
  /** Idle limit of an episode, in ms. */
  idleMs: number;
  log: Log;
}

type State = Record<string, unknown> | null;

/** Plays a page without a policy: a person's episode and its replays. */
export class Stage {
  private episodes = 0;

  private constructor(
    private readonly sessions: Sessions,
    private readonly times: { deadlineMs: number; leaseMs: number },
  ) {}

  /** @throws TryFailure if there is no browser */
  static async open({ loaded: { run, registry }, variables, idleMs, log }: StageOptions): Promise<Stage> {
    const { deadline_ms: deadlineMs } = run.environment;
    const programs = { chromium: readCliSettings().chromiumBin };
    const plan = { choice: run.environment.kind, maxSessions: 2, deadlineMs, programs, variables, log };
    const sessions = await startSessions(plan, registry);
    return new Stage(sessions, { deadlineMs, leaseMs: idleMs + 60_000 });
  }

  /** Opens the page. @throws TryFailure */
  async begin(task: Task, seed: number): Promise<StagedEpisode> {
    const owner = `try-${this.episodes++}`;
    const opened = valueOf(
      await this.sessions.open({ task, seed, owner, ...this.times }),
      'the page cannot be opened',
    );
    return new StagedEpisode(this.sessions, this.times.deadlineMs, opened);
  }

  close(): Promise<void> {
    return this.sessions.close();
  }
}

/** An open page. */
export class StagedEpisode {
  readonly screenshot: Screenshot;
  private readonly sessionId: string;
  private steps = 0;

  constructor(
    private readonly sessions: Sessions,
    private readonly deadlineMs: number,
    { sessionId, screenshot }: { sessionId: string; screenshot: Screenshot },
  ) {
    this.screenshot = screenshot;
    this.sessionId = sessionId;
  }

  /** @throws TryFailure if the episode is over */
  async step(action: Action): Promise<StepOutcome> {
    const { sessionId, deadlineMs } = this;
    const stepId = String(this.steps++);
    const reply = await this.sessions.step({ sessionId, stepId, action, deadlineMs });
    return valueOf(reply, `the page did not survive ${action.action}`);
  }

  /** @throws TryFailure */
  async survey(at: Point | null): Promise<Survey> {
    const reply = await this.sessions.survey(this.sessionId, at, this.deadlineMs);
    return valueOf(reply, 'the page cannot be looked at');
  }

  /** The cookies and storage of a login: a secret. @throws TryFailure */
  async storageState(): Promise<object> {
    const reply = await this.sessions.storageState(this.sessionId, this.deadlineMs);
    return valueOf(reply, 'what the page has stored cannot be read');
  }

  /** Ends the episode and returns the state that verifiers judge. @throws TryFailure */
  async end(): Promise<State> {
    return valueOf(await this.sessions.closeSession(this.sessionId), 'the state of the page cannot be read')
      .state;
  }

  /** Ends the episode without reading its state. */
  async discard(): Promise<void> {
    await this.sessions.closeSession(this.sessionId);
  }
}

function valueOf<T>(reply: Reply<T>, what: string): T {
  if (reply.ok) return reply.value;
  const { code, message } = reply.error;
  const hint = code === 'no_sandbox' ? '. For a page that you trust: --environment.kind.sandbox off' : '';
  throw new TryFailure(`${what}: ${message} (${code})${hint}`);
}
