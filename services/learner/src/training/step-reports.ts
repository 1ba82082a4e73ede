import { Logger } from '@nestjs/common';
import type { BusService } from '@ui-rl/bus';
import { describeError } from '@ui-rl/retry';
import { checkpointName, stepFolder, type TrainedEpisode } from '@ui-rl/contracts';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import type { Group } from '../episodes/groups';
import type { PolicyWeights } from '../policy/policy-weights';
import type { EpisodeLog } from '../tracking/episode-log';
import { showStep } from '../tracking/step-gauges';
import type { Trackers } from '../tracking/trackers';
import type { RunWarnings } from '../warnings';
import type { Progress } from './progress';

/** A run is stable if its KL between sampler and trainer stays below this. */
const STABLE_KL = 0.01;

export interface StepReportsParts {
  runId: string;
  bus: BusService;
  progress: Progress;
  weights: PolicyWeights;
  checkpoints: CheckpointStore;
  trackers: Trackers;
  warnings: RunWarnings;
  episodeLog: EpisodeLog;
  /** Whether the current step is the last one. */
  isLast: () => boolean;
}

/**
 * Reports the progress of a run to its trackers, and to other services. Reports repeated after a restart are stored
 * once.
 */
export class StepReports {
  private readonly logger = new Logger('training');

  constructor(private readonly parts: StepReportsParts) {}

  /** @param savedAt ISO 8601 */
  async trackLastStep(savedAt: string): Promise<void> {
    const { trackers, progress } = this.parts;
    const { step, lastStep } = progress;
    if (lastStep === null) return;
    await trackers.step({ step, at: savedAt, metrics: lastStep.metrics });
  }

  /** Writes some groups of the last step as readable pages. */
  logEpisodes(groups: readonly Group[]): void {
    this.parts.episodeLog.add(this.parts.progress.step, groups);
  }

  /** Drops readable pages that were written after `step`, for a resumed run. */
  resume(step: number): Promise<void> {
    return this.parts.episodeLog.resume(step);
  }

  /** Resolves when the readable pages are complete. */
  close(): Promise<void> {
    return this.parts.episodeLog.close();
  }

  /** Publishes the last step, and its checkpoint if it is kept. */
  async publishLastStep(): Promise<void> {
    const { bus, runId, progress, checkpoints } = this.parts;
    const { step, lastStep } = progress;
    if (lastStep !== null) {
      showStep(step, lastStep.metrics);
      await bus.event({ type: 'train_step', runId, step, ...lastStep }, String(step));
    }
    if (checkpoints.keeps(step)) await this.publishCheckpoint();
  }

  /** Publishes the last step's numbers for its tokens. A run does not depend on them. */
  async publishTokens(episodes: TrainedEpisode[]): Promise<void> {
    const { bus, runId, progress } = this.parts;
    if (episodes.length === 0) return;
    const { step } = progress;
    await bus
      .event({ type: 'trained_tokens', runId, step, episodes }, String(step))
      .catch((error: unknown) => this.logger.warn(`tokens of step ${step}: ${describeError(error)}`));
  }

  async publishCheckpoint(): Promise<void> {
    const { bus, runId, progress, weights, checkpoints, trackers, isLast } = this.parts;
    const { step } = progress;
    const address = checkpointName({ runId, step });
    const path = checkpoints.folder.pathOf(step);
    const at = new Date().toISOString();
    await trackers.checkpoint({ step, at, name: stepFolder(step), path, address });
    const { digest: adapterDigest } = weights.current;
    await bus.event(
      {
        ...{ type: 'checkpoint', runId, step, name: address, path, adapterDigest },
        ...(isLast() ? { last: true } : {}),
        ...(progress.warmStart && { warmStart: progress.warmStart }),
      },
      String(step),
    );
  }

  /** Warns if sampler and trainer have drifted apart. */
  async warnOfDrift(): Promise<void> {
    const { progress, warnings } = this.parts;
    const { step, lastStep } = progress;
    const kl = lastStep?.metrics['optim/kl_sample_train_v2'];
    if (kl === undefined || kl <= STABLE_KL) return;
    const message = `step ${step}: KL between sampler and trainer is ${kl.toFixed(4)}, a stable run stays below ${STABLE_KL}`;
    await warnings
      .send('kl', message, `kl.${step}`)
      .catch((error: unknown) => this.logger.warn(describeError(error)));
  }
}
