import { loadComponents, loadTasks, Sessions, type Reply, type Task } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import { BarePages } from './bare-playwright';
import { alternate, median, medianRatio, ownPeakRss, memoryBelow } from './measure';
import type { BenchOptions, PartResult } from './parts';
import { tapPointOf } from './tap-points';

const PAGES = [1, 4, 8];
const DEADLINE_MS = 30_000;

/** Pages that execute steps concurrently. */
interface Pages {
  step(page: number, index: number): Promise<void>;
}

/**
 * Steps per second (a click, then a screenshot) on the demo phone with 1, 4 and 8 concurrent pages: the browser
 * environment as used by the env service, against Playwright's click and screenshot on pages of the same size. The
 * ratio is the lowest of the three. Browser memory is measured with 8 pages open, before the baseline opens its own.
 */
export async function benchEnvironment({ quick, onProgress }: BenchOptions): Promise<PartResult> {
  const { rounds, steps } = quick ? { rounds: 3, steps: 20 } : { rounds: 10, steps: 40 };
  const task = await phoneTask();
  const plugin = await PluginPages.open(task, Math.max(...PAGES));
  const browsers = memoryBelow(process.pid);
  const bare = await BarePages.open(task, Math.max(...PAGES));
  try {
    const details: Record<string, unknown> = {};
    const ratios: number[] = [];
    for (const pages of PAGES) {
      const speed = (on: Pages) => () => stepsPerSecond(on, pages, steps);
      await alternate(1, [speed(plugin), speed(bare)]);
      const [ours, theirs] = await alternate(rounds, [speed(plugin), speed(bare)]);
      const ratio = medianRatio(ours, theirs);
      ratios.push(ratio);
      details[pages] = { ratio, stepsPerSecond: median(ours), playwrightStepsPerSecond: median(theirs) };
      onProgress(
        `environment, ${pages} page${pages === 1 ? '' : 's'}: ${ratio.toFixed(2)} of bare Playwright ` +
          `(${median(ours).toFixed(0)} against ${median(theirs).toFixed(0)} steps/s)`,
      );
    }
    return {
      ratios: { env_vs_playwright: Math.min(...ratios) },
      details,
      peakRssBytes: { env: ownPeakRss(), env_browsers: browsers },
    };
  } finally {
    await plugin.close();
    await bare.close();
  }
}

/** Steps of each page are sequential, pages run concurrently. */
async function stepsPerSecond(on: Pages, pages: number, steps: number): Promise<number> {
  const began = performance.now();
  const play = async (page: number): Promise<void> => {
    for (let index = 0; index < steps; index += 1) await on.step(page, index);
  };
  await Promise.all(Array.from({ length: pages }, (_, page) => play(page)));
  return (pages * steps * 1000) / (performance.now() - began);
}

/** A task of the demo source that does not end before the benchmark. */
export async function phoneTask(): Promise<Task> {
  const registry = await loadComponents();
  const [task] = await loadTasks(registry, [{ source_type: 'demo_training', limit: 1 }]);
  return task;
}

/** Sessions of the environment plugin, as in the env service. */
export class PluginPages implements Pages {
  private steps = 0;

  private constructor(
    private readonly sessions: Sessions,
    private readonly ids: readonly string[],
    private readonly viewport: { width: number; height: number },
  ) {}

  static async open(task: Task, count: number): Promise<PluginPages> {
    const registry = await loadComponents();
    const environment = await registry.create(
      'environment',
      { name: 'browser' },
      {
        pages: registry.pages,
        maxSessions: count,
        programs: { chromium: readCliSettings().chromiumBin },
        log: () => undefined,
      },
    );
    const sessions = new Sessions(environment, { maxSessions: count });
    const open = async (seed: number) =>
      valueOf(await sessions.open({ task, seed, leaseMs: 600_000, deadlineMs: DEADLINE_MS }));
    const opened = await Promise.all(Array.from({ length: count }, (_, seed) => open(seed)));
    const { width, height } = opened[0].screenshot;
    return new PluginPages(
      sessions,
      opened.map(({ sessionId }) => sessionId),
      { width, height },
    );
  }

  async step(page: number, index: number): Promise<void> {
    const action = { action: 'click', ...tapPointOf(index, this.viewport) };
    const request = {
      sessionId: this.ids[page],
      stepId: `step-${this.steps++}`,
      action,
      deadlineMs: DEADLINE_MS,
    };
    valueOf(await this.sessions.step(request));
  }

  async close(): Promise<void> {
    await this.sessions.close();
  }
}

export function valueOf<T>(reply: Reply<T>): T {
  if (!reply.ok) throw new Error(`the environment failed: ${reply.error.code}: ${reply.error.message}`);
  return reply.value;
}
