import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { readAction, type Point } from '@ui-rl/actions';
import type { Reply, Screenshot, Task } from '@ui-rl/contracts';
import { DEADLINES, startTimer } from '@ui-rl/retry';
import type { Deadline, Environment, EnvironmentSession, OpenOptions, Survey, StepOutcome } from './kinds';

export interface OpenSession {
  task: Task;
  seed: number;
  /**
   * Owner of the session. Without free capacity, a new request of the same owner closes an idle session that it left
   * behind.
   */
  owner?: string;
  /** The session ends after this time without a request. */
  leaseMs: number;
  deadlineMs: number;
}

export interface StepSession {
  sessionId: string;
  /** A repeated request with the same id returns the first reply of the step. */
  stepId: string;
  /** Validated against the action vocabulary. */
  action: unknown;
  deadlineMs: number;
}

export interface SessionsOptions {
  maxSessions: number;
  /** Time limit for reading the final state. Default `DEADLINES.environmentClose`. */
  closeDeadlineMs?: number;
  log?: (level: 'info' | 'warn' | 'error', message: string) => void;
}

type State = Record<string, unknown> | null;
interface OpenedSession {
  sessionId: string;
  screenshot: Screenshot;
  /** Of the first frame; null if the environment reports none. */
  state: State;
  /** Whether the environment handles the finish action itself. */
  takesFinish?: boolean;
}

export interface ClosedSession {
  state: State;
  /** Time that it was open, in ms. */
  openMs: number;
  /** Part of that time without a request, in ms. */
  idleMs: number;
}

type CloseReply = Reply<ClosedSession>;

interface Open {
  id: string;
  owner: string | undefined;
  session: EnvironmentSession;
  leaseMs: number;
  lease: NodeJS.Timeout | null;
  openedAt: number;
  /** End of its last request. */
  idleSince: number;
  idleMs: number;
  stepId: string | null;
  reply: Promise<Reply<StepOutcome>> | null;
  /** The settled value of `reply`. */
  settled: Reply<StepOutcome> | null;
  busy: boolean;
  closing: Promise<CloseReply> | null;
}

/** The record of an ended session. */
interface Ended {
  stepId: string | null;
  reply: Reply<StepOutcome> | null;
  close: CloseReply;
}

/**
 * Limits on remembered ended sessions, from which repeated requests get their replies: their number, and bytes of
 * screenshots.
 */
const REMEMBERED = 1_000;
const REMEMBERED_BYTES = 64 * 2 ** 20;

/**
 * Sessions over an environment: ids, capacity, leases, idempotent steps, and a deadline that holds even if the
 * environment does not answer. Every failure is a value:
 * `capacity`, `no_session`, `busy`, `bad_request`, `deadline`, `crashed`, `internal` and codes of the environment.
 * Only `capacity`, `busy` and `bad_request` leave the session open; any other failure ends it.
 */
export class Sessions {
  private readonly active = new Map<string, Open>();
  private readonly ended = new LRUCache<string, Ended>({
    max: REMEMBERED,
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ reply }) => 1 + (reply?.ok === true ? reply.value.screenshot.png.byteLength : 0),
  });
  private opening = 0;
  private closed = false;

  constructor(
    private readonly environment: Environment,
    private readonly options: SessionsOptions,
  ) {}

  /** Number of sessions that are open or being opened. */
  get size(): number {
    return this.active.size + this.opening;
  }

  async open(request: OpenSession): Promise<Reply<OpenedSession>> {
    if (this.size >= this.options.maxSessions) this.giveUp(request.owner);
    if (this.closed || this.size >= this.options.maxSessions) {
      return failure('capacity', `all ${this.options.maxSessions} sessions are in use`);
    }
    this.opening++;
    try {
      const reply = await this.guarded(
        request.deadlineMs,
        'open',
        (deadline) => this.environment.open(openOptionsOf(request), deadline),
        (session) => void session.discard(),
      );
      return reply.ok ? this.opened(reply.value, request) : reply;
    } finally {
      this.opening--;
    }
  }

  async step(request: StepSession): Promise<Reply<StepOutcome>> {
    const open = this.active.get(request.sessionId);
    if (open === undefined) return this.stepAfterEnd(request);
    if (open.stepId === request.stepId && open.reply !== null) return open.reply;
    if (open.busy || open.closing !== null) return failure('busy', 'the session is at another request');
    const parsed = readAction(request.action);
    if (!parsed.ok) return failure('bad_request', parsed.correction);
    const reply = this.working(open, () =>
      this.guarded(request.deadlineMs, 'step', (deadline) => open.session.step(parsed.action, deadline)),
    );
    open.stepId = request.stepId;
    open.reply = reply;
    open.settled = null;
    const result = await reply;
    open.settled = result;
    if (!result.ok) await this.end(open, result);
    return result;
  }

  /** The current state if the environment can read it during the episode; else the state of the first frame. */
  async inspect(sessionId: string, deadlineMs: number): Promise<Reply<State>> {
    const open = this.active.get(sessionId);
    if (open === undefined) return this.inspectAfterEnd(sessionId);
    if (open.busy || open.closing !== null) return failure('busy', 'the session is at another request');
    const { session } = open;
    if (session.inspect === undefined) return { ok: true, value: session.state ?? null };
    const reply = await this.working(open, () =>
      this.guarded(deadlineMs, 'inspect', (deadline) => session.inspect!(deadline)),
    );
    if (!reply.ok) await this.end(open, reply);
    return reply;
  }

  /**
   * The values that checks could refer to now; `unsupported` if the environment has no survey. A failure does not end the
   * session.
   */
  survey(sessionId: string, at: Point | null, deadlineMs: number): Promise<Reply<Survey>> {
    return this.told(sessionId, 'survey', deadlineMs, (session, deadline) => session.survey?.(at, deadline));
  }

  /** Cookies and storage of a login: a secret. `unsupported` if the environment has none. */
  storageState(sessionId: string, deadlineMs: number): Promise<Reply<object>> {
    return this.told(sessionId, 'storageState', deadlineMs, (session, deadline) =>
      session.storageState?.(deadline),
    );
  }

  /** Calls an optional, read-only method of a session. */
  private async told<T>(
    sessionId: string,
    what: string,
    deadlineMs: number,
    ask: (session: EnvironmentSession, deadline: Deadline) => Promise<Reply<T>> | undefined,
  ): Promise<Reply<T>> {
    const open = this.active.get(sessionId);
    if (open === undefined) return noSession(sessionId);
    if (open.busy || open.closing !== null) return failure('busy', 'the session is at another request');
    return this.working(open, () =>
      this.guarded(
        deadlineMs,
        what,
        async (deadline) =>
          (await ask(open.session, deadline)) ?? failure('unsupported', `the environment has no ${what}`),
      ),
    );
  }

  /** Ends a session and returns its final state. Closing twice returns the same reply. */
  async closeSession(sessionId: string): Promise<CloseReply> {
    const open = this.active.get(sessionId);
    if (open === undefined) return this.ended.get(sessionId)?.close ?? noSession(sessionId);
    if (open.closing !== null) return open.closing;
    if (open.busy) return failure('busy', 'the session is at another request');
    open.closing = this.closing(open);
    return open.closing;
  }

  /** Ends all sessions and the environment. */
  async close(): Promise<void> {
    this.closed = true;
    const stopping = failure('no_session', 'the environment is being stopped');
    await Promise.all([...this.active.values()].map((open) => this.end(open, stopping)));
    await this.environment.close();
  }

  private opened(session: EnvironmentSession, { owner, leaseMs }: OpenSession): Reply<OpenedSession> {
    const open: Open = {
      id: randomUUID(),
      owner,
      session,
      leaseMs,
      lease: null,
      openedAt: performance.now(),
      idleSince: performance.now(),
      idleMs: 0,
      stepId: null,
      reply: null,
      settled: null,
      busy: false,
      closing: null,
    };
    this.active.set(open.id, open);
    this.renew(open);
    const { screenshot, state = null, takesFinish } = session;
    return {
      ok: true,
      value: { sessionId: open.id, screenshot, state, ...(takesFinish === true ? { takesFinish } : {}) },
    };
  }

  private async closing(open: Open): Promise<CloseReply> {
    const deadlineMs = this.options.closeDeadlineMs ?? DEADLINES.environmentClose.ms;
    const reply = await this.working(open, () =>
      this.guarded(deadlineMs, 'close', (deadline) => open.session.close(deadline)),
    );
    const close: CloseReply = reply.ok ? { ok: true, value: { state: reply.value, ...useOf(open) } } : reply;
    await this.end(open, close, reply.ok);
    return close;
  }

  /** Suspends the lease while the session works. */
  private async working<T>(open: Open, work: () => Promise<T>): Promise<T> {
    open.busy = true;
    open.idleMs += performance.now() - open.idleSince;
    if (open.lease !== null) clearTimeout(open.lease);
    try {
      return await work();
    } finally {
      open.busy = false;
      open.idleSince = performance.now();
      this.renew(open);
    }
  }

  private renew(open: Open): void {
    if (open.lease !== null) clearTimeout(open.lease);
    if (!this.active.has(open.id)) return;
    open.lease = startTimer(open.leaseMs, () => void this.expire(open));
    open.lease.unref();
  }

  /** A killed owner never closes its sessions; its successor need not wait for their leases. */
  private giveUp(owner: string | undefined): void {
    if (owner === undefined) return;
    const left = [...this.active.values()].find(
      (open) => open.owner === owner && !open.busy && open.closing === null,
    );
    if (left === undefined) return;
    this.options.log?.('warn', `session ${left.id} ended: ${owner} opens another one`);
    const ended = this.end(left, failure('no_session', `session ${left.id} was given up for a new one`));
    ended.catch((error: unknown) => this.options.log?.('error', `session ${left.id}: ${String(error)}`));
  }

  private async expire(open: Open): Promise<void> {
    this.options.log?.('warn', `session ${open.id} ended: nothing was asked of it for ${open.leaseMs} ms`);
    await this.end(
      open,
      failure('no_session', `session ${open.id} has ended: its lease of ${open.leaseMs} ms ran out`),
    );
  }

  private async end(open: Open, close: CloseReply, sessionClosed = false): Promise<void> {
    if (!this.active.delete(open.id)) return;
    if (open.lease !== null) clearTimeout(open.lease);
    this.ended.set(open.id, { stepId: open.stepId, reply: open.settled, close });
    if (!sessionClosed) await open.session.discard();
  }

  private inspectAfterEnd(sessionId: string): Reply<State> {
    const ended = this.ended.get(sessionId);
    return ended === undefined || ended.close.ok ? noSession(sessionId) : ended.close;
  }

  private stepAfterEnd({ sessionId, stepId }: StepSession): Reply<StepOutcome> {
    const ended = this.ended.get(sessionId);
    if (ended === undefined) return noSession(sessionId);
    if (ended.stepId === stepId && ended.reply !== null) return ended.reply;
    return ended.close.ok ? noSession(sessionId) : ended.close;
  }

  /**
   * Runs an operation of the environment under a deadline; converts exceptions to values. A result that arrives after
   * the deadline goes to `late`.
   */
  private async guarded<T>(
    deadlineMs: number,
    what: string,
    run: (deadline: Deadline) => Promise<Reply<T>>,
    late?: (value: T) => void,
  ): Promise<Reply<T>> {
    const abort = new AbortController();
    const timers: NodeJS.Timeout[] = [];
    const running = this.caught(what, () =>
      run({ deadlineAt: Date.now() + deadlineMs, signal: abort.signal }),
    );
    const hung = new Promise<null>((resolve) => {
      timers.push(startTimer(deadlineMs, () => abort.abort()));
      timers.push(startTimer(deadlineMs + DEADLINES.environmentHung.ms, () => resolve(null)));
    });
    const result = await Promise.race([running, hung]);
    timers.forEach(clearTimeout);
    if (result !== null) return result;
    void running.then((reply) => (reply.ok ? late?.(reply.value) : undefined));
    return failure('deadline', `${what} did not answer within ${deadlineMs} ms`);
  }

  private async caught<T>(what: string, run: () => Promise<Reply<T>>): Promise<Reply<T>> {
    try {
      return await run();
    } catch (error) {
      const detail = error instanceof Error ? error : new Error(String(error));
      this.options.log?.('error', `${what} failed: ${detail.stack ?? detail.message}`);
      return failure('internal', detail.message);
    }
  }
}

function openOptionsOf({ task, seed, owner }: OpenSession): OpenOptions {
  return { task, seed, episode: owner };
}

/** To a tenth of a millisecond. */
function useOf({ openedAt, idleMs }: Open): Pick<ClosedSession, 'openMs' | 'idleMs'> {
  const rounded = (ms: number): number => Math.round(ms * 10) / 10;
  return { openMs: rounded(performance.now() - openedAt), idleMs: rounded(idleMs) };
}

function failure(code: string, message: string): { ok: false; error: { code: string; message: string } } {
  return { ok: false, error: { code, message } };
}

function noSession(sessionId: string): { ok: false; error: { code: string; message: string } } {
  return failure('no_session', `there is no session ${sessionId}`);
}
