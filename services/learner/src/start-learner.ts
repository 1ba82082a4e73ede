import { Logger } from '@nestjs/common';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  describeError,
  FINAL_PHASES,
  LeaseLost,
  resolveCheckpoint,
  type BusService,
  type Lease,
  type RunSnapshot,
} from '@ui-rl/bus';
import { parseSharedFileName, STREAMS, type BaseModel } from '@ui-rl/contracts';
import { checkRendererName, loadPromptFolder, makeRenderer, type PromptFolder } from '@ui-rl/models';
import { ApiError } from '@ui-rl/openai-api';
import type { ComponentRegistry, Engine, Log, Sampler } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import { redactRunFile } from '@ui-rl/settings';
import { CheckpointFolder, type LearnerState } from './checkpoints/checkpoint-folder';
import { CheckpointElsewhere, CheckpointStore } from './checkpoints/checkpoint-store';
import { CRITIC, POLICY, RunModels } from './checkpoints/run-models';
import { GroupBuffer } from './episodes/groups';
import { IndexSet } from './episodes/index-set';
import { DialectComputer } from './endpoint/dialect-computer';
import { OutsidePolicy } from './endpoint/outside-policy';
import { EpisodeIntake, trajectoryConsumer } from './episodes/intake';
import { LostEpisodes } from './episodes/lost-episodes';
import { Stragglers } from './episodes/stragglers';
import { TaskHealth } from './episodes/task-health';
import { Learner } from './learner';
import { findModel, type FoundModel } from './model-source';
import type { LearnerOptions } from './options';
import { PolicyServer } from './policy/policy-server';
import { PolicyWeights } from './policy/policy-weights';
import { probesOf } from './policy/probes';
import { Screenshots } from './policy/screenshots';
import { CHECKPOINTS, openRunFolder, RunSkipped, type RunFolder } from './run-folder';
import { keepsCheckpoint } from './run-options';
import { trackEvaluations } from './tracking/evaluations';
import { EpisodeLog } from './tracking/episode-log';
import { Trackers } from './tracking/trackers';
import { makeAlgorithm, type Algorithm } from './training/algorithm';
import { BatchTrainer } from './training/batch-trainer';
import { GroupDemand } from './training/group-demand';
import { Progress } from './training/progress';
import { StepReports } from './training/step-reports';
import { NOTHING_CARRIED, readCarried, type Carried } from './training/stored/kept-episodes';
import { openStored } from './training/stored/open-stored';
import type { StoredEpisodes } from './training/stored/stored-episodes';
import { WarmStart } from './training/stored/warm-start';
import { TrainingLoop } from './training/training-loop';
import type { SequenceContext } from './training/turn-data';
import { RunWarnings } from './warnings';

export interface StartOptions {
  bus: BusService;
  run: RunSnapshot;
  options: LearnerOptions;
  components: ComponentRegistry;
  /** Of the run. */
  lease: Lease;
  /** Called with an error that nothing can be done about: the process should end, a new one resumes from the last checkpoint. */
  onFailure: (error: unknown) => void;
}

/** What a learner is made of that has to be stopped again. */
interface Machinery {
  algorithm: Algorithm;
  folder: PromptFolder;
  /** Episodes of the warm start. */
  stored: StoredEpisodes | undefined;
  screenshots: Screenshots;
  engine: Engine;
  models: RunModels;
  sampler: Sampler;
}

const logger = new Logger('learner');

const log: Log = (level, message) => {
  logger[level === 'info' ? 'log' : level](message);
};

/** Loads the model and resumes from the run's newest checkpoint, or begins with checkpoint 0. */
export async function startLearner(start: StartOptions): Promise<Learner> {
  const { runId } = start.run.record;
  let machinery: Machinery | undefined;
  try {
    const runFolder = await folderOf(start);
    const stood = await readState(start, runFolder);
    const model = await modelOf(start, stood.state);
    machinery = await startMachinery(start, model.dir, stood.state);
    const { device } = await machinery.engine.info();
    const progress = progressOf(runId, stood, model.base, device);
    return await resumeRun(start, machinery, { ...stood, progress, runFolder });
  } catch (error) {
    if (machinery !== undefined) await stopMachinery(machinery);
    if ([CheckpointElsewhere, LeaseLost, RunSkipped].some((expected) => error instanceof expected))
      throw error;
    throw new Error(`the learner of run ${runId} cannot start`, { cause: error });
  }
}

async function startMachinery(
  { bus, run, options, components }: StartOptions,
  modelDir: string,
  state: LearnerState | undefined,
): Promise<Machinery> {
  const algorithm = makeAlgorithm(options.algorithm, components, options.maxSteps);
  const { critic } = algorithm;
  const folder = await loadPromptFolder(modelDir);
  checkRenderer(options, folder);
  const blobs = bus.blobs.of(run.record.runId);
  const stored = await openStored(options, folder, components, state, new RunWarnings(bus, run.record.runId));
  const screenshots = new Screenshots(
    folder.imageProcessor,
    async (sha256) => (await stored?.image(sha256)) ?? blobs.get(sha256),
  );
  const { trainable, maxRows, maxSequence, deterministic, seed } = options;
  const engine = await components.create('engine', options.engine, {
    modelDir,
    models: [
      { name: POLICY, role: 'policy', trainable },
      ...(critic === undefined
        ? []
        : [
            {
              name: CRITIC,
              role: 'critic' as const,
              trainable: { mode: 'lora' as const, lora: critic.lora },
            },
          ]),
    ],
    maxRows,
    maxSequence,
    deterministic,
    seed,
    device: state?.device,
    componentFiles: components.files,
    fetchImage: (sha256) => screenshots.bytesOf(sha256),
    log,
    onProgress: (line) => logger.log(line),
  });
  try {
    const sampler = await components.create('sampler', options.sampler, {
      engine,
      runId: run.record.runId,
      sharedDir: options.adaptersDir,
      imageTokenId: folder.family.shape.imageTokenId,
      probes: () => probesOf(makeRenderer(folder)),
      fetchImage: (sha256) => screenshots.bytesOf(sha256),
      apiKeyOf: (address) => options.samplerKeys[new URL(address).origin],
      log,
    });
    refuseUpdatesInFlight(options, sampler);
    const models = new RunModels(engine, critic !== undefined);
    return { algorithm, folder, stored, screenshots, engine, models, sampler };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

function checkRenderer({ rendererName }: LearnerOptions, { family }: PromptFolder): void {
  if (rendererName === undefined) return;
  try {
    checkRendererName(rendererName, family.shape.modelType);
  } catch (cause) {
    throw new Misconfigured((cause as Error).message, { cause });
  }
}

function refuseUpdatesInFlight(
  { updatesInFlight, sampler: { name } }: LearnerOptions,
  sampler: Sampler,
): void {
  if (!updatesInFlight || sampler.move !== undefined) return;
  throw new Misconfigured(
    `async.in_flight_updates: sampler ${name} cannot change the weights of answers in progress; leave it out, or take another sampler or engine`,
  );
}

/** Failures are logged: they must not hide why the start failed. */
async function stopMachinery({ sampler, engine }: Machinery): Promise<void> {
  for (const part of [sampler, engine]) {
    await part.stop().catch((error: unknown) => logger.error(describeError(error)));
  }
}

/** What is known of a run before its learner is made. */
type Stood = Pick<Resumed, 'state' | 'carried' | 'failedGroups' | 'takenOut'>;

/** Where the run stood. */
interface Resumed {
  checkpoints: CheckpointStore;
  /** undefined for a run that begins. */
  state: LearnerState | undefined;
  carried: Carried;
  /** Groups that were given up since, as ranges. */
  failedGroups: string;
  /** Tasks that are not trained any more. */
  takenOut: readonly string[];
  progress: Progress;
  runFolder: RunFolder;
}

function folderOf({ bus, run, options }: StartOptions): Promise<RunFolder> {
  const { runsDir, logDir, ifLogDirExists: ifExists } = options;
  const isOpen = async (id: string): Promise<boolean> => {
    const state = await bus.runs.state(id);
    return state !== null && !FINAL_PHASES.includes(state.phase);
  };
  return openRunFolder({ runsDir, runId: run.record.runId, logDir, ifExists, isOpen });
}

function modelOf({ options }: StartOptions, state: LearnerState | undefined): Promise<FoundModel> {
  const { model, hub, models } = options;
  const onProgress = (line: string) => logger.log(line);
  // A folder's name in a run file is that of somebody else's folder.
  return findModel(model, state?.model, { ...hub, models, folders: false, onProgress });
}

function progressOf(
  runId: string,
  { state, carried, failedGroups, takenOut }: Stood,
  base: BaseModel,
  device: string,
): Progress {
  const progress =
    state === undefined ? new Progress(runId, base, device) : Progress.from(state, carried, base, device);
  for (const index of IndexSet.parse(failedGroups)) progress.fail(index);
  for (const task of takenOut) progress.takenOut.add(task);
  return progress;
}

async function readState(
  { bus, run, options, lease }: StartOptions,
  { dir }: RunFolder,
): Promise<Stood & Pick<Resumed, 'checkpoints'>> {
  const { runId } = run.record;
  const folder = new CheckpointFolder(join(dir, CHECKPOINTS));
  const warnings = new RunWarnings(bus, runId);
  const checkpoints = new CheckpointStore(folder, bus.checkpoints, {
    runId,
    uploads: options.uploads,
    lease,
    keeps: (step) => keepsCheckpoint(options, step),
    warn: (message, step) =>
      warnings.send('damaged_checkpoint', message, `learner.damaged_checkpoint.${step}.${lease.epoch}`),
  });
  const policy = await bus.runs.policy(runId);
  const { state, wentBack } = await checkpoints.resume(policy);
  // What was acknowledged since, too: the stream still has it.
  if (wentBack) await bus.deleteConsumer(STREAMS.trajectories, trajectoryConsumer(runId));
  const carried = state === undefined ? NOTHING_CARRIED : await readCarried(folder.pathOf(state.step));
  const { failedGroups = '', takenOut = [] } = policy ?? {};
  return { checkpoints, state, carried, failedGroups, takenOut };
}

async function resumeRun(start: StartOptions, machinery: Machinery, resumed: Resumed): Promise<Learner> {
  const trackers = await trackersOf(start, resumed.runFolder);
  try {
    return await resumeTracked(start, machinery, resumed, trackers);
  } catch (error) {
    await trackers.close();
    throw error;
  }
}

async function trackersOf(
  { run, options, components }: StartOptions,
  { dir: runDir }: RunFolder,
): Promise<Trackers> {
  const { runId, config } = run.record;
  await mkdir(runDir, { recursive: true });
  return Trackers.create(options.trackers, components, {
    runId,
    runDir,
    config: redactRunFile(config, components),
  });
}

async function resumeTracked(
  start: StartOptions,
  machinery: Machinery,
  resumed: Resumed,
  trackers: Trackers,
): Promise<Learner> {
  const { bus, run, options, lease, onFailure } = start;
  const { engine, models, sampler } = machinery;
  const { runId } = run.record;
  const weights = weightsOf(start, machinery);
  const training = trainingOf(start, machinery, resumed, weights, trackers);
  const { loadCheckpoint } = options;
  const loadFrom = loadCheckpoint === undefined ? undefined : () => locate(start, loadCheckpoint);
  await begin({ ...resumed, ...training, models, weights, trackers, loadFrom });
  const { checkpoints, state } = resumed;
  logger.log(
    state === undefined
      ? `run ${runId} begins with ${options.model}`
      : `run ${runId} goes on from checkpoint ${checkpoints.folder.pathOf(state.step)}`,
  );
  return new Learner({
    ...{ runId, bus, lease, options, engine, sampler, weights, trackers, onFailure },
    ...training,
    ...policyOf(start, machinery, weights),
    evaluations: await trackEvaluations(bus, runId, trackers),
  });
}

function weightsOf(start: StartOptions, { engine, sampler }: Machinery): PolicyWeights {
  return new PolicyWeights(engine, sampler, {
    runId: start.run.record.runId,
    locate: (name) => locate(start, name),
    updatesInFlight: start.options.updatesInFlight,
  });
}

/** The folder of a checkpoint, or of one that somebody uploaded, by its address. */
function locate({ bus, options: { runsDir, cacheDir } }: StartOptions, name: string): Promise<string> {
  if (parseSharedFileName(name) !== undefined) return bus.files.fetch(name, cacheDir);
  return resolveCheckpoint(name, { runsDir, cacheDir, archive: bus.checkpoints });
}

/** The policy for actors, and for callers from outside. */
function policyOf(
  { run, options, components, lease }: StartOptions,
  { folder, screenshots, sampler }: Machinery,
  weights: PolicyWeights,
): { policy: PolicyServer; outside: OutsidePolicy; computer: DialectComputer } {
  const { tokenizer, family, imageProcessor } = folder;
  const renderer = makeRenderer({ ...folder, imageProcessor: screenshots });
  const { imageTokenId } = family.shape;
  const { model: baseModel, maxSequence, dialect, promptStyle } = options;
  const computer = new DialectComputer({ components, dialect, promptStyle, imageProcessor, log });
  const shared = { sampler, weights, renderer, tokenizer, imageTokenId };
  const { runId } = run.record;
  const ensureServed = () => ensureLease(lease);
  return {
    policy: new PolicyServer({ ...shared, screenshots, imageProcessor }),
    outside: new OutsidePolicy({ ...shared, runId, baseModel, maxSequence, computer, ensureServed }),
    computer,
  };
}

/** @throws ApiError where another learner has taken over */
async function ensureLease(lease: Lease): Promise<void> {
  try {
    await lease.ensure();
  } catch (error) {
    if (error instanceof LeaseLost) throw new ApiError(503, error.message, 'deposed');
    throw error;
  }
}

interface Training {
  intake: EpisodeIntake;
  demand: GroupDemand;
  reports: StepReports;
  loop: TrainingLoop;
  lost: LostEpisodes;
  stragglers: Stragglers;
}

function trainingOf(
  start: StartOptions,
  machinery: Machinery,
  { checkpoints, progress, runFolder }: Resumed,
  weights: PolicyWeights,
  trackers: Trackers,
): Training {
  const { bus, run, options, lease } = start;
  const { runId } = run.record;
  const { engine, models, folder, screenshots } = machinery;
  const { groupSize, maxAttempts } = options;
  const { imageTokenId, vocabSize } = folder.family.shape;
  const warnings = new RunWarnings(bus, runId);
  const health = new TaskHealth();
  const buffer = new GroupBuffer({
    maxAttempts,
    isSettled: (index) => progress.settled.has(index),
    // What others were doing at that moment must not decide in a run that repeats.
    isHopeless: ({ task }) => !options.deterministic && health.othersArePlayed(task),
  });
  const demand = new GroupDemand({ runId, bus, lease, options, progress, weights });
  const stragglers: Stragglers = new Stragglers({
    runId,
    bus,
    options,
    buffer,
    progress,
    isOver: (): boolean => loop.finished,
  });
  const intake = new EpisodeIntake({
    ...{ runId, bus, lease, groupSize, buffer, health, stragglers, progress, warnings },
    tokens: { imageTokenId, vocabSize },
    missingScreenshot: (hashes) => screenshots.missingOf(hashes),
    groupsRequested: () => demand.groupsRequested,
  });
  const context = {
    imageTokenId,
    imagesOfPrompt: (hashes: readonly string[]) => screenshots.ofPrompt(hashes),
    maxStepsOffPolicy: options.maxStepsOffPolicy,
  };
  const warmStart = warmStartOf(start, machinery, context);
  progress.warmStartSteps = warmStart?.steps ?? progress.warmStartSteps;
  const algorithm = delayed(machinery.algorithm, progress.warmStartSteps);
  const trainer = new BatchTrainer(engine, algorithm, context);
  const reports = new StepReports({
    ...{ runId, bus, progress, weights, checkpoints, trackers, warnings },
    episodeLog: new EpisodeLog({
      ...{ runId, groups: options.groupsToLog, dir: join(runFolder.dir, 'episodes') },
      screenshot: (sha256) => screenshots.bytesOf(sha256),
    }),
    keepsCheckpoint: (step) => keepsCheckpoint(options, step),
  });
  const loop = new TrainingLoop({
    ...{
      lease,
      models,
      options,
      algorithm,
      buffer,
      health,
      progress,
      weights,
      trainer,
      warmStart,
      checkpoints,
      demand,
      reports,
    },
    stragglers,
    warnings,
  });
  const lost = new LostEpisodes({
    ...{ runId, bus, options, buffer, progress, warnings },
    isOver: () => loop.finished,
  });
  return { intake, demand, reports, loop, lost, stragglers };
}

function warmStartOf(
  { options: { warmStart, seed }, components }: StartOptions,
  { stored, ...machinery }: Machinery,
  context: SequenceContext,
): WarmStart | undefined {
  if (warmStart === undefined || stored === undefined) return undefined;
  return new WarmStart(warmStart, { ...machinery, stored, components, context, seed });
}

/** The schedule of an algorithm begins after so many steps. */
function delayed(algorithm: Algorithm, steps: number): Algorithm {
  const { schedule, critic } = algorithm;
  return {
    ...algorithm,
    schedule: { factor: (step) => schedule.factor(step - steps) },
    critic: critic && { ...critic, warmupSteps: critic.warmupSteps + steps },
  };
}

/** Loads the newest weights, or keeps those the run begins with; serves them, and reports where the run stands. */
async function begin(
  parts: Resumed &
    Omit<Training, 'intake' | 'lost' | 'stragglers'> &
    Pick<Machinery, 'models'> & {
      weights: PolicyWeights;
      trackers: Trackers;
      /** Finds the checkpoint a new run begins with, where it names one. */
      loadFrom: (() => Promise<string>) | undefined;
    },
): Promise<void> {
  const { checkpoints, state, progress, models, weights, trackers, demand, reports, loop } = parts;
  const { step } = progress;
  if (state !== undefined) {
    await models.restore(checkpoints.folder.pathOf(step), { optimizer: !progress.renewsOptimizer });
  } else {
    await beginFromAnother(parts);
  }
  const { digest } = await weights.publish(step);
  progress.produced(step, digest);
  if (state === undefined) await loop.save();
  else await checkpoints.publish(step);
  await weights.activate(step, digest);
  await trackers.resume(step);
  await reports.resume(step);
  if (state !== undefined) await reports.trackLastStep(state.savedAt);
  await demand.announce();
  await reports.publishLastStep();
}

/** A new run may begin with the weights of another one: one in its folder that it resumes, or the checkpoint that it names. */
async function beginFromAnother({
  models,
  runFolder: { resumeFrom },
  loadFrom,
}: Parameters<typeof begin>[0]): Promise<void> {
  const dir = resumeFrom ?? (await loadFrom?.());
  if (dir === undefined) return;
  const { newCritic } = await models.begin(dir, { optimizer: resumeFrom !== undefined });
  if (newCritic) logger.warn(`${dir} has no critic: this run begins with a new one`);
}
