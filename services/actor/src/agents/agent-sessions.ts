import { ApiError, PolicyDirectory } from '@ui-rl/openai-api';
import type { AgentSession, SessionWish } from './agent-session';

/** A run whose episodes agents play here. */
export interface OfferedRun {
  readonly runId: string;
  /** Waits for a rollout and opens a session for it; undefined if none came in time. */
  claim(wish: SessionWish, waitMs: number, signal: AbortSignal): Promise<AgentSession | undefined>;
}

/** The runs whose episodes outside agents play here, and their sessions. */
export class AgentSessions extends PolicyDirectory {
  private readonly runs = new Map<string, OfferedRun>();
  private readonly sessions = new Map<string, AgentSession>();

  offer(run: OfferedRun): void {
    this.runs.set(run.runId, run);
  }

  withdraw(run: OfferedRun): void {
    if (this.runs.get(run.runId) === run) this.runs.delete(run.runId);
  }

  add(session: AgentSession): void {
    this.sessions.set(session.id, session);
  }

  remove({ id }: AgentSession): void {
    this.sessions.delete(id);
  }

  /** @param runId optional if agents play only one run. @throws ApiError */
  runOf(runId: string | undefined): OfferedRun {
    const found =
      runId === undefined
        ? [...this.runs.values()]
        : [this.runs.get(runId)].filter((each) => each !== undefined);
    if (found.length === 1) return found[0];
    const known = [...this.runs.keys()].join(', ') || 'none';
    const message =
      runId === undefined
        ? `name the run; those that agents play here: ${known}`
        : `agents do not play run "${runId}" here; those that they do: ${known}`;
    throw new ApiError(runId === undefined && found.length > 1 ? 400 : 404, message, 'no_such_run', 'run');
  }

  /** @throws ApiError */
  sessionOf(id: string | undefined): AgentSession {
    const session = id === undefined ? undefined : this.sessions.get(id);
    if (session !== undefined) return session;
    throw new ApiError(
      404,
      `there is no session "${id}" (any more): it has ended, or its actor has`,
      'session_over',
    );
  }

  policyOf(id: string | undefined): AgentSession {
    return this.sessionOf(id);
  }
}
