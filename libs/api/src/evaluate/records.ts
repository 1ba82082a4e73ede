import type { BusService, ShownRunFile } from '@ui-rl/bus';
import { subjects, type EvaluationEvent } from '@ui-rl/contracts';
import { boundedFetch } from '@ui-rl/http';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { DEADLINES, sleep } from '@ui-rl/retry';
import { describeRun, redactRunFile, type RunFile } from '@ui-rl/settings';
import type { EpisodeResult } from '../task/player';

/** Limit on the monitor's description of a run. */
const MAX_RUN_BYTES = 16 * 2 ** 20;
const ask = boundedFetch({ maxBytes: MAX_RUN_BYTES });

/**
 * Records an evaluation at a broker as a run with its episodes, screenshots and scores, for monitors to show.
 * Services do not join it, because it is announced to them only after it has ended.
 */
export class EvaluationRecords {
  private readonly createdAt = new Date().toISOString();
  private readonly shown: ShownRunFile & { config: Record<string, unknown> };
  private episodes = 0;

  constructor(
    private readonly bus: BusService,
    readonly runId: string,
    run: RunFile,
    registry: ComponentRegistry,
  ) {
    const { plugins: _plugins, ...config } = run;
    this.shown = { config: redactRunFile(config, registry), configuration: describeRun(run, registry) };
  }

  async begin(): Promise<void> {
    const { bus, runId, createdAt: at } = this;
    await bus.event({ type: 'run_created', runId, at, ...this.shown }, 'created');
    await bus.event({ type: 'phase', runId, phase: 'final_eval', at }, 'final_eval');
  }

  /** Publishes an episode after its screenshots. */
  async episode({ screenshot, ...played }: EpisodeResult): Promise<void> {
    const { runId, rolloutId, purpose } = played.request;
    const shown = played.turns.flatMap((turn) => [turn.screenshot, ...turn.promptImages]);
    const hashes = new Set([
      ...shown,
      ...(played.finalScreenshot === undefined ? [] : [played.finalScreenshot]),
    ]);
    const blobs = this.bus.blobs.of(runId);
    await Promise.all([...hashes].map((sha256) => blobs.put(screenshot(sha256), sha256)));
    await this.bus.publishJson(subjects.trajectory(runId, purpose), played, rolloutId);
    this.episodes += 1;
  }

  async scored(event: Omit<EvaluationEvent, 'at'>): Promise<void> {
    await this.bus.event(event, event.evaluationId);
  }

  /** @param reason why the evaluation stopped early */
  async end(reason: string | null): Promise<void> {
    const { bus, runId, createdAt, shown } = this;
    const phase = reason === null ? 'finished' : 'stopped';
    // End the run first: services would join an open run.
    await bus.runs.changePhase(runId, phase, { from: [], ...(reason === null ? {} : { reason }) });
    await bus.runs.create({ runId, createdAt, config: shown.config }, phase, shown);
  }

  /**
   * Waits until a monitor has recorded everything, before that monitor stops with the evaluation.
   * @param token access token of the monitor
   * @returns whether it has
   */
  async recordedBy(monitorUrl: string, token?: string): Promise<boolean> {
    const { ms } = DEADLINES.recorded;
    for (const until = performance.now() + ms; performance.now() < until; await sleep(200)) {
      const run = await recordedRun(`${monitorUrl}/api/runs/${this.runId}`, token);
      if (run !== null && ['finished', 'stopped'].includes(run.phase) && run.episodes >= this.episodes)
        return true;
    }
    return false;
  }
}

async function recordedRun(
  url: string,
  token: string | undefined,
): Promise<{ phase: string; episodes: number } | null> {
  try {
    const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    const response = await ask(url, { headers, signal: AbortSignal.timeout(DEADLINES.recorded.ms) });
    return response.ok ? ((await response.json()) as { phase: string; episodes: number }) : null;
  } catch {
    return null;
  }
}
