import type { Reply, Screenshot, Sessions } from '@ui-rl/plugin-kit';

/** Plays one session of an environment, step by step. */
export class Player {
  private steps = 0;

  constructor(
    private readonly sessions: Sessions,
    readonly sessionId: string,
    readonly first: Screenshot,
    private readonly stepMs: number,
  ) {}

  ask(action: Record<string, unknown>, deadlineMs = this.stepMs) {
    const stepId = `step-${this.steps++}`;
    return this.sessions.step({ sessionId: this.sessionId, stepId, action, deadlineMs });
  }

  async act(action: Record<string, unknown>, deadlineMs?: number) {
    return value(await this.ask(action, deadlineMs));
  }

  /** Ends the session; returns the final state. */
  async close(): Promise<Record<string, unknown> | null> {
    return value(await this.sessions.closeSession(this.sessionId)).state;
  }
}

/** The value of a reply. Throws if the reply is an error. */
export function value<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}
