import { LRUCache } from 'lru-cache';
import { startSessions } from '@ui-rl/episode';
import type { Sessions } from '@ui-rl/plugin-kit';
import type { EnvironmentGroup } from '@ui-rl/settings';
import type { EnvOptions } from './env.options';
import { plansOf } from './environment-plan';

/**
 * Number of sessions whose environment is remembered, including ended ones: their last replies may be requested
 * again.
 */
const MAX_KEPT_SESSIONS = 10_000;

/** The running environments, by run and kind, with their sessions. */
export class RunEnvironments {
  private readonly runs = new Map<string, Map<string, Sessions>>();
  private readonly bySession = new LRUCache<string, Sessions>({ max: MAX_KEPT_SESSIONS });

  constructor(private readonly options: EnvOptions) {}

  /** Starts a run's environments and returns their kinds. Throws the error of a rejected plugin. */
  async start(runId: string, environment: EnvironmentGroup): Promise<string[]> {
    const started = new Map<string, Sessions>();
    try {
      for (const plan of plansOf(environment, this.options)) {
        started.set(plan.choice.name, await startSessions(plan, this.options.components));
      }
    } catch (error) {
      await closeAll(started);
      throw error;
    }
    this.runs.set(runId, started);
    return [...started.keys()];
  }

  of(runId: string, kind: string): Sessions | undefined {
    return this.runs.get(runId)?.get(kind);
  }

  register(sessionId: string, sessions: Sessions): void {
    this.bySession.set(sessionId, sessions);
  }

  ofSession(sessionId: string): Sessions | undefined {
    return this.bySession.get(sessionId);
  }

  /** Stops the environments of a run. */
  async release(runId: string): Promise<void> {
    const started = this.runs.get(runId);
    this.runs.delete(runId);
    if (started === undefined) return;
    // Their remembered sessions end with them.
    const gone = new Set(started.values());
    for (const [id, sessions] of this.bySession.entries()) if (gone.has(sessions)) this.bySession.delete(id);
    await closeAll(started);
  }
}

async function closeAll(started: Map<string, Sessions>): Promise<void> {
  await Promise.all([...started.values()].map((sessions) => sessions.close()));
}
