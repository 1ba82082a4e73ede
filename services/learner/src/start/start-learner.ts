import { type Lease, LeaseLost } from '@ui-rl/bus';
import { makeRenderer } from '@ui-rl/models';
import { ApiError } from '@ui-rl/openai-api';
import { redactRunFile } from '@ui-rl/settings';
import { mkdir } from 'node:fs/promises';
import { CheckpointElsewhere } from '../checkpoints/checkpoint-store';
import { DialectComputer } from '../endpoint/dialect-computer';
import { OutsidePolicy } from '../endpoint/outside-policy';
import { Learner } from '../learner';
import { PolicyServer } from '../policy/policy-server';
import { PolicyWeights } from '../policy/policy-weights';
import { type RunFolder, RunSkipped } from '../run-folder';
import { trackEvaluations } from '../tracking/evaluations';
import { Trackers } from '../tracking/trackers';
import { begin } from './begin';
import { fetchModel, locate } from './locate';
import { log, logger } from './log';
import { type Machinery, startMachinery, stopMachinery } from './machinery';
import { type Resumed, folderOf, progressOf, readState } from './resumed';
import type { StartOptions } from './start-options';
import { trainingOf } from './training';

/** Loads the model and resumes from the run's newest checkpoint, or starts with checkpoint 0. */
export async function startLearner(start: StartOptions): Promise<Learner> {
  const { runId } = start.run.record;
  let machinery: Machinery | undefined;
  try {
    const runFolder = await folderOf(start);
    const stood = await readState(start, runFolder);
    const { engine, model: named } = start.options;
    const model = await fetchModel(start, named.name, { engine, begun: stood.state?.model });
    machinery = await startMachinery(start, model, stood.state);
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
  return Trackers.create(options.logging.trackers, components, {
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
  const { engine, models, sampler, teacher } = machinery;
  const { runId } = run.record;
  const weights = weightsOf(start, machinery);
  const training = trainingOf(start, machinery, resumed, weights, trackers);
  const { load_checkpoint: loadCheckpoint } = options.model;
  const loadFrom = loadCheckpoint === undefined ? undefined : () => locate(start, loadCheckpoint);
  await begin({ ...resumed, ...training, models, weights, trackers, loadFrom });
  const { checkpoints, state } = resumed;
  logger.log(
    state === undefined
      ? `run ${runId} begins with ${options.model.name}`
      : `run ${runId} continues from checkpoint ${checkpoints.folder.pathOf(state.step)}`,
  );
  return new Learner({
    ...{ runId, bus, lease, options, engine, sampler, teacher, weights, trackers, onFailure },
    ...training,
    ...policyOf(start, machinery, weights),
    evaluations: await trackEvaluations(bus, runId, trackers),
  });
}

function weightsOf(start: StartOptions, { engine, sampler }: Machinery): PolicyWeights {
  return new PolicyWeights(engine, sampler, {
    runId: start.run.record.runId,
    locate: (name) => locate(start, name),
    updatesInFlight: start.options.async.in_flight_updates,
  });
}

/** The policy for actors, and for outside clients. */
function policyOf(
  { run, options, components, lease }: StartOptions,
  { folder, screenshots, sampler }: Machinery,
  weights: PolicyWeights,
): { policy: PolicyServer; outside: OutsidePolicy; computer: DialectComputer } {
  const { tokenizer, family, imageProcessor } = folder;
  const renderer = makeRenderer({ ...folder, imageProcessor: screenshots });
  const { imageTokenId } = family.shape;
  const { name: baseModel, max_sequence: maxSequence, action_format: dialect } = options.model;
  const promptStyle = options.model.prompt;
  const computer = new DialectComputer({ components, dialect, promptStyle, imageProcessor, log });
  const shared = { sampler, weights, renderer, tokenizer, imageTokenId, maxSequence };
  const { runId } = run.record;
  const ensureServed = () => ensureLease(lease);
  return {
    policy: new PolicyServer({ ...shared, screenshots, imageProcessor }),
    outside: new OutsidePolicy({ ...shared, runId, baseModel, computer, ensureServed }),
    computer,
  };
}

/** @throws ApiError if another learner has taken over */
async function ensureLease(lease: Lease): Promise<void> {
  try {
    await lease.ensure();
  } catch (error) {
    if (error instanceof LeaseLost) throw new ApiError(503, error.message, 'deposed');
    throw error;
  }
}
