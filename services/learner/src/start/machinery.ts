import { createHash } from 'node:crypto';
import { describeError } from '@ui-rl/retry';
import { type PromptFolder, checkRendererName, loadPromptFolder, makeRenderer } from '@ui-rl/models';
import type { Engine, EngineContext, Log, Sampler, TrainedModel } from '@ui-rl/plugin-kit';
import { Misconfigured } from '@ui-rl/service';
import { trainableOf, type RunFile } from '@ui-rl/settings';
import type { LearnerState } from '../checkpoints/learner-state';
import { CRITIC, POLICY, RunModels } from '../checkpoints/run-models';
import type { FoundModel } from '../model-source';
import { probesOf } from '../policy/probes';
import { BusProcesses } from '../policy/sampler-processes';
import { Screenshots } from '../policy/screenshots';
import { type Algorithm, makeAlgorithm } from '../training/algorithm';
import { openStored } from '../training/stored/open-stored';
import type { StoredEpisodes } from '../training/stored/stored-episodes';
import { RunWarnings } from '../warnings';
import { environmentOf } from './environment-of';
import { log, logger } from './log';
import type { StartOptions } from './start-options';
import { startTeacher } from './teacher';

/** The resources of a learner that have to be stopped. */
export interface Machinery {
  algorithm: Algorithm;
  folder: PromptFolder;
  /** Episodes of the warm start. */
  stored: StoredEpisodes | undefined;
  screenshots: Screenshots;
  engine: Engine;
  models: RunModels;
  sampler: Sampler;
  /** Scores the policy's tokens, in a run with a teacher. */
  teacher: Engine | undefined;
}

export async function startMachinery(
  start: StartOptions,
  { dir: modelDir, base }: FoundModel,
  state: LearnerState | undefined,
): Promise<Machinery> {
  const { bus, run, options, machine, components, lease } = start;
  const { model, training } = options;
  const { deterministic } = training;
  const algorithm = makeAlgorithm(options, components);
  const folder = withThinking(await loadPromptFolder(modelDir), model);
  checkRenderer(model, folder);
  const { runId } = run.record;
  const blobs = bus.blobs.of(runId);
  const warnings = new RunWarnings(bus, runId);
  const stored = await openStored(options, folder, components, state, warnings);
  const screenshots = new Screenshots(
    folder.imageProcessor,
    async (sha256) => (await stored?.image(sha256)) ?? blobs.get(sha256),
  );
  const context: EngineContext = {
    modelDir,
    modelName: model.name,
    cacheDir: machine.cacheDir,
    models: [
      { name: POLICY, role: 'policy', trainable: trainableOf(model) },
      ...(algorithm.critic === undefined ? [] : [criticModel(options)]),
    ],
    maxRows: options.rollout.concurrency,
    maxSequence: model.max_sequence,
    deterministic,
    seed: training.seed,
    endTokenIds: folder.tokenizer.eosTokenIds,
    device: state?.device,
    componentFiles: components.files,
    environment: environmentOf(components, options.engine),
    fetchImage: (sha256) => screenshots.bytesOf(sha256),
    log: engineLog(warnings, lease.epoch),
    onProgress: (line) => logger.log(line),
  };
  const engine = await components.create('engine', options.engine, context);
  let processes: BusProcesses | undefined;
  let teacher: Engine | undefined;
  try {
    teacher = await startTeacher(start, { folder, context });
    const { device } = await engine.info();
    const image = (sha256: string): Promise<Uint8Array | null> => screenshots.bytesOf(sha256);
    processes = new BusProcesses({ bus, runId, lease, base, device, image, warnings });
    const sampler = await components.create('sampler', options.sampler, {
      engine,
      runId,
      sharedDir: machine.adaptersDir,
      imageTokenId: folder.family.shape.imageTokenId,
      probes: () => probesOf(makeRenderer(folder)),
      fetchImage: image,
      deterministic,
      processes,
      apiKeyOf: (address) => machine.samplerKeys[new URL(address).origin],
      log,
    });
    refuseUpdatesInFlight(options, sampler);
    const models = new RunModels(engine, algorithm.critic !== undefined);
    return { algorithm, folder, stored, screenshots, engine, models, sampler, teacher };
  } catch (error) {
    await processes?.stop();
    await teacher?.stop();
    await engine.stop();
    throw error;
  }
}

/** The critic's adapter; without dropout, because values must be the same in every pass. */
function criticModel({ critic }: RunFile): TrainedModel {
  const { rank, alpha, targets } = critic.lora;
  const lora = { rank, alpha, targets, dropout: 0, vision: false, rslora: false };
  return { name: CRITIC, role: 'critic', trainable: { mode: 'lora', lora } };
}

/** Forwards the engine's warnings to observers of the run. */
function engineLog(warnings: RunWarnings, epoch: number): Log {
  return (level, message) => {
    if (level !== 'warn') return log(level, message);
    const id = createHash('sha256').update(message).digest('hex').slice(0, 16);
    warnings
      .send('engine', message, `learner.engine.${epoch}.${id}`)
      .catch((error: unknown) => log('error', String(error)));
  };
}

/** The folder with its template's reasoning enabled or disabled, if the run sets that. */
function withThinking(folder: PromptFolder, { thinking }: RunFile['model']): PromptFolder {
  if (thinking === undefined) return folder;
  try {
    return { ...folder, chat: folder.chat.thinking(thinking) };
  } catch (cause) {
    throw new Misconfigured(`model.thinking: ${(cause as Error).message}`, { cause });
  }
}

function checkRenderer(
  { renderer_name: rendererName }: RunFile['model'],
  { family, chat }: PromptFolder,
): void {
  if (rendererName === undefined) return;
  try {
    checkRendererName(rendererName, family.shape.modelType, chat);
  } catch (cause) {
    throw new Misconfigured((cause as Error).message, { cause });
  }
}

function refuseUpdatesInFlight({ async: pace, sampler: { name } }: RunFile, sampler: Sampler): void {
  if (!pace.in_flight_updates || sampler.move !== undefined) return;
  throw new Misconfigured(
    `async.in_flight_updates: sampler ${name} cannot change the weights of answers in progress; leave it out, or take another sampler or engine`,
  );
}

/** Logs failures, so that they do not hide why the start failed. */
export async function stopMachinery({ sampler, engine, teacher }: Machinery): Promise<void> {
  for (const part of [sampler, engine, teacher]) {
    await part?.stop().catch((error: unknown) => logger.error(describeError(error)));
  }
}
