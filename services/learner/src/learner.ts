import { Logger } from '@nestjs/common';
import { join } from 'node:path';
import {
  failure,
  isFailure,
  resolveCheckpoint,
  UnacceptableMessage,
  type BusService,
  type RunSnapshot,
} from '@ui-rl/bus';
import {
  subjects,
  type ImageSize,
  type PolicyActRequest,
  type PolicyInfoReply,
  type RunPhase,
  type RunState,
  type Trajectory,
} from '@ui-rl/contracts';
import { chooseDevice, Engine } from '@ui-rl/engine';
import { loadModelFolder, makeRenderer } from '@ui-rl/models';
import { CheckpointFolder, type LearnerState } from './checkpoint-folder';
import { CheckpointElsewhere, CheckpointStore } from './checkpoint-store';
import { GroupBuffer, unsolicitedRequest } from './groups';
import { type FetchImage, ImageStore } from './image-store';
import { MetricsFile } from './metrics-file';
import { withModelFolder } from './model-source';
import type { LearnerOptions } from './options';
import { keepsCheckpoint, openTrajectories } from './run-options';
import { PolicyServer } from './policy-server';
import { Progress } from './progress';
import { RecentScreenshots } from './recent-screenshots';
import { findDefect } from './samples';
import { BatchTrainer } from './trainer';
import { TrainingLoop } from './training-loop';

const IMAGE_BYTES = 384 * 2 ** 20;
/** Share of invalid episodes that raises the alarm, and how many must have been seen. */
const INVALID_ALARM = 0.05;
const ALARM_AFTER = 20;

/** Phases in which episodes may be trained on. */
const TRAINING_PHASES: readonly RunPhase[] = ['baseline', 'training'];

/** The learner of one run: serves its policy and trains it. */
export class Learner {
  private readonly logger = new Logger('learner');
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private alarmed = false;

  private constructor(
    readonly runId: string,
    private readonly bus: BusService,
    private readonly engine: Engine,
    private readonly options: LearnerOptions,
    private readonly imageTokenId: number,
    private readonly buffer: GroupBuffer,
    private readonly progress: Progress,
    private readonly policy: PolicyServer,
    private readonly loop: TrainingLoop,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /**
   * Loads the model and goes on where the run's newest checkpoint stands, or begins with checkpoint 0.
   * @param onFailure called with what cannot be handled: the process should end, a new one goes on from the last checkpoint
   */
  static async start(
    bus: BusService,
    run: RunSnapshot,
    requested: LearnerOptions,
    onFailure: (error: unknown) => void,
  ): Promise<Learner> {
    const { runId } = run.record;
    const options = await withModelFolder(requested, runId);
    const { device, reason } = await chooseDevice(options.engine.device);
    const logger = new Logger('learner');
    logger.log(`the model runs on ${device}: ${reason}`);
    const engine = await Engine.start({ ...options.engine, device }, (line) => logger.log(line));
    try {
      return await Learner.over(engine, bus, run, options, onFailure);
    } catch (error) {
      await engine.stop();
      if (error instanceof CheckpointElsewhere) throw error;
      throw new Error(`the learner of run ${runId} cannot start`, { cause: error });
    }
  }

  private static async over(
    engine: Engine,
    bus: BusService,
    run: RunSnapshot,
    options: LearnerOptions,
    onFailure: (error: unknown) => void,
  ): Promise<Learner> {
    const { runId } = run.record;
    const { modelDir, weights } = options.engine;
    const folder = await loadModelFolder(modelDir, weights === undefined ? {} : { weights });
    const { runsDir, cacheDir, uploads } = options;
    const archive = bus.checkpoints;
    const checkpoints = new CheckpointStore(
      new CheckpointFolder(join(runsDir, runId, 'checkpoints')),
      archive,
      { runId, uploads, keeps: (step) => keepsCheckpoint(options, step) },
    );
    const state = await checkpoints.resume((await bus.runs.policy(runId))?.version ?? 0);
    const progress = state === undefined ? new Progress(runId) : Progress.from(state);
    const buffer = new GroupBuffer({
      maxAttempts: options.maxAttempts,
      isSettled: (index) => progress.settled.has(index),
    });
    const fetchImage: FetchImage = (sha256) => bus.blobs.get(sha256);
    const images = new ImageStore(folder.imageProcessor, fetchImage, IMAGE_BYTES);
    const screenshots = new RecentScreenshots(fetchImage);
    const renderer = makeRenderer(folder, { historyTurns: options.historyTurns });
    const locate = (name: string): Promise<string> => resolveCheckpoint(name, { runsDir, cacheDir, archive });
    const policy = new PolicyServer(engine, folder, renderer, images, screenshots, { runId, locate });
    const trainer = new BatchTrainer(engine, images, options);
    const metricsFile = new MetricsFile(join(options.runsDir, runId, 'metrics.jsonl'));
    const parts = {
      runId,
      bus,
      engine,
      options,
      buffer,
      progress,
      policy,
      trainer,
      checkpoints,
      metricsFile,
    };
    const loop = new TrainingLoop(parts);
    const { imageTokenId } = folder.family.shape;
    const learner = new Learner(
      runId,
      bus,
      engine,
      options,
      imageTokenId,
      buffer,
      progress,
      policy,
      loop,
      onFailure,
    );
    void engine.ended.then((error) => learner.fail(error));
    await learner.begin(checkpoints, state, metricsFile);
    void learner.follow();
    return learner;
  }

  act(request: PolicyActRequest): ReturnType<PolicyServer['act']> {
    return this.policy.act(request);
  }

  /** @param screenshot a size to be told of what the model sees of it */
  async info(screenshot?: ImageSize): Promise<PolicyInfoReply | ReturnType<typeof failure>> {
    const { step, digest } = this.policy.current;
    const modelImage = screenshot && this.policy.modelImage(screenshot);
    if (isFailure(modelImage)) return modelImage;
    const engine = { ...(await this.engine.info()) };
    return { runId: this.runId, step, adapterDigest: digest, engine, modelImage };
  }

  /** Episodes that may wait for their batch at the same time. */
  get openTrajectories(): number {
    return openTrajectories(this.options);
  }

  /**
   * Takes in one episode; resolves when nothing more needs its message.
   * @throws UnacceptableMessage for one that nobody requested: its group would never be complete, and keep others waiting
   */
  async accept(trajectory: Trajectory, signal: AbortSignal): Promise<void> {
    if (this.loop.finished) return;
    const { runId, options, loop } = this;
    const unsolicited = unsolicitedRequest(trajectory.request, {
      runId,
      groupSize: options.groupSize,
      groups: loop.groupsRequested,
    });
    if (unsolicited !== undefined)
      throw new UnacceptableMessage(`nobody requested this episode: ${unsolicited}`);
    const problem = await this.validate(trajectory);
    const added = this.buffer.add(trajectory, problem === undefined);
    if (added.kind === 'redundant') return;
    this.watchInvalidShare();
    if (added.kind === 'refill') {
      const { request } = added;
      this.logger.warn(
        `episode ${trajectory.request.rolloutId} does not count (${problem}); asking for ${request.rolloutId}`,
      );
      await this.bus.publishJson(subjects.rollout(this.runId, request.purpose), request, request.rolloutId);
      return;
    }
    this.advance();
    await untilSettled(added.settled, signal);
  }

  /** Serves no more and releases the device. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.timer);
    await this.engine.stop();
  }

  private async begin(
    checkpoints: CheckpointStore,
    state: LearnerState | undefined,
    metricsFile: MetricsFile,
  ): Promise<void> {
    const { progress, engine, policy, loop } = this;
    const info = await (state === undefined
      ? engine.info()
      : engine.load(checkpoints.folder.pathOf(state.step)));
    progress.produced(progress.step, info.digest);
    await policy.snapshot(progress.step);
    if (state === undefined) await loop.save();
    else await checkpoints.publish(state.step);
    await policy.activate(progress.step, info.digest);
    const last = state?.lastStep ?? null;
    const line = last === null ? null : { step: progress.step, at: state!.savedAt, metrics: last.metrics };
    await metricsFile.resume(line, progress.step);
    await loop.announce();
    await loop.reportLastStep();
    this.logger.log(
      state === undefined
        ? `run ${this.runId} begins with ${this.options.engine.modelDir}`
        : `run ${this.runId} goes on from checkpoint ${checkpoints.folder.pathOf(state.step)}`,
    );
  }

  /** Why an episode does not count; undefined where it does. */
  private async validate(trajectory: Trajectory): Promise<string | undefined> {
    if (trajectory.status === 'invalid') return trajectory.invalidReason ?? 'no reason given';
    const digest = this.progress.unknownDigest(trajectory);
    const defect =
      digest === undefined
        ? findDefect(trajectory, this.imageTokenId)
        : `it was sampled with adapter ${digest}, which this learner never produced`;
    if (defect === undefined) return undefined;
    const { rolloutId } = trajectory.request;
    const message = `trajectory ${rolloutId} is not trained: ${defect}`;
    await this.warn(digest === undefined ? 'defective_trajectory' : 'unknown_adapter', message, rolloutId);
    return defect;
  }

  private watchInvalidShare(): void {
    const settled = this.progress.counts;
    const open = this.buffer.counts;
    const counts = {
      trajectories: settled.trajectories + open.trajectories,
      invalid: settled.invalid + open.invalid,
    };
    const share = counts.invalid / counts.trajectories;
    if (counts.trajectories < ALARM_AFTER || share <= INVALID_ALARM) {
      this.alarmed = false;
    } else if (!this.alarmed) {
      this.alarmed = true;
      const message = `${counts.invalid} of ${counts.trajectories} training episodes failed in the infrastructure (alarm at ${100 * INVALID_ALARM} %)`;
      this.warn('invalid_share', message, String(counts.trajectories)).catch((error: unknown) =>
        this.logger.error(error),
      );
    }
  }

  private async warn(code: string, message: string, id: string): Promise<void> {
    this.logger.warn(message);
    await this.bus.event(
      { type: 'warning', runId: this.runId, service: 'learner', code, message },
      `learner.${code}.${id}`,
    );
  }

  private advance(): void {
    this.loop
      .advance()
      .then(() =>
        this.loop.reachedMaxSteps ? this.finish(`${this.options.maxSteps} steps are done`) : undefined,
      )
      .catch((error: unknown) => this.fail(error));
  }

  /** Follows the run's phase: when training may begin, how long it may take, when it is over. */
  private async follow(): Promise<void> {
    try {
      for await (const state of this.bus.runs.watchState(this.runId, this.stopping.signal)) this.enter(state);
    } catch (error) {
      if (!this.stopping.signal.aborted) this.fail(error);
    }
  }

  private enter({ phase, since }: RunState): void {
    clearTimeout(this.timer);
    if (!TRAINING_PHASES.includes(phase)) {
      this.loop.finish().catch((error: unknown) => this.fail(error));
      return;
    }
    const { maxMinutes } = this.options;
    if (phase === 'training' && maxMinutes > 0) {
      const rest = Date.parse(since) + maxMinutes * 60_000 - Date.now();
      this.timer = setTimeout(() => void this.finish(`${maxMinutes} minutes are over`), Math.max(0, rest));
    }
    if (phase === 'training') this.advance();
  }

  private async finish(reason: string): Promise<void> {
    if (this.loop.finished) return;
    try {
      await this.loop.finish();
      this.logger.log(`training of run ${this.runId} is over: ${reason}`);
      await this.bus.runs.changePhase(this.runId, 'final_eval', { from: ['training'], reason });
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    if (!this.stopping.signal.aborted) this.onFailure(error);
  }
}

async function untilSettled(settled: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new Error('the learner stops before the episode was trained');
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => reject(new Error('the learner stops before the episode was trained'));
    signal.addEventListener('abort', stop, { once: true });
    settled.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
