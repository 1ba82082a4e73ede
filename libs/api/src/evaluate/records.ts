import type { BusService, ShownRunFile } from '@ui-rl/bus';
import { subjects, type EvaluationEvent } from '@ui-rl/contracts';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { describeRun, redactRunFile, type RunFile } from '@ui-rl/settings';
import type { EpisodeResult } from '../task/player';

/**
 * Records an evaluation at a broker as a run with its episodes, screenshots and scores, for monitors to show.
 * Services do not join it, because it is announced to them only after it has ended.
 */
export class EvaluationRecords {
  private readonly createdAt = new Date().toISOString();
  private readonly shown: ShownRunFile & { config: Record<string, unknown> };

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
}
