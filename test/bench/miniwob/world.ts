import { loadComponents, loadTasks, Sessions, type Reply, type Task } from '@ui-rl/plugin-kit';
import { fetchFolders, readVariables } from '@ui-rl/settings';
import { Random } from '@ui-rl/random';
import { findChromium } from '@ui-rl/testkit';

const DEADLINE_MS = 60_000;

export interface Opened {
  sessionId: string;
  sha256: string;
  png: Uint8Array;
  /** The screen text, if requested. */
  text: string | undefined;
  state: Record<string, unknown>;
  step(action: object): Promise<{ sha256: string; text: string | undefined; done: boolean; outcome: string }>;
  close(): Promise<Record<string, unknown>>;
}

/**
 * MiniWoB++, from a checkout or downloaded by the setup, in the browser environment as configured by an env service.
 */
export class World {
  private constructor(
    readonly tasks: readonly Task[],
    /** Log lines of the environment. */
    readonly log: string[],
    private readonly sessions: Sessions,
  ) {}

  /** @param options of the environment */
  static async start(checkout: string | undefined, pages: number, options: object = {}): Promise<World> {
    const log: string[] = [];
    const registry = await loadComponents();
    const tasks = await loadTasks(registry, [{ source_type: 'miniwob' }]);
    const variables = checkout === undefined ? readVariables(['MINIWOB_DIR']) : { MINIWOB_DIR: checkout };
    const environment = await registry.create(
      'environment',
      { name: 'browser', pages_per_browser: pages, ...options },
      {
        ...registry.pagesWith(variables, fetchFolders()),
        scripts: registry.scripts,
        maxSessions: pages,
        programs: { chromium: findChromium() },
        log: (level, message) => void log.push(`${level} ${message}`),
      },
    );
    return new World(tasks, log, new Sessions(environment, { maxSessions: pages }));
  }

  /** Throws the environment's error if it does not open. */
  async open(task: Task, seed: number): Promise<Opened> {
    const { sessions } = this;
    const opening = { task, seed, leaseMs: 10 * DEADLINE_MS, deadlineMs: DEADLINE_MS };
    const { sessionId, screenshot, state } = valueOf(await sessions.open(opening));
    let steps = 0;
    return {
      sessionId,
      sha256: screenshot.sha256,
      png: screenshot.png,
      text: screenshot.text,
      state: state ?? {},
      async step(action) {
        const stepId = String(steps++);
        const { screenshot: next, ...rest } = valueOf(
          await sessions.step({ sessionId, stepId, action, deadlineMs: DEADLINE_MS }),
        );
        return { sha256: next.sha256, text: next.text, ...rest };
      },
      close: async () => valueOf(await sessions.closeSession(sessionId)).state ?? {},
    };
  }

  close(): Promise<void> {
    return this.sessions.close();
  }
}

function valueOf<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}

/** A random click in the area of the task. */
export function randomClick(random: Random): { action: 'click'; x: number; y: number } {
  return { action: 'click', x: random.below(160), y: 50 + random.below(160) };
}
