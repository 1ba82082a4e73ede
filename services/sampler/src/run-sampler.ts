import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { failure, type BusService, type Responder } from '@ui-rl/bus';
import { CancelSample, MoveSamples, SampleMessage, subjects, type SamplerReport } from '@ui-rl/contracts';
import { loadPromptFolder, pinnedName, resolveModel, type HubOptions } from '@ui-rl/models';
import type { ComponentRegistry, Engine, Log } from '@ui-rl/plugin-kit';
import { sleep } from '@ui-rl/retry';
import { baseScores, readRequest, writeResult } from '@ui-rl/sampling';
import { Misconfigured, type ServedRun } from '@ui-rl/service';
import { readVariables, trainableOf, type RunFile } from '@ui-rl/settings';
import { HeldWeights } from './held-weights';
import { LearnerLink, RunOver } from './learner-link';

/** Interval of reports to the learner while weights are loading, in milliseconds. */
const REPORT_EVERY_MS = 1_000;

export interface RunSamplerOptions {
  bus: BusService;
  runId: string;
  run: RunFile;
  components: ComponentRegistry;
  hub: HubOptions;
  models: Readonly<Record<string, string>>;
  cacheDir: string;
}

/** This sampler's identity in reports to the learner. */
type Identity = Omit<SamplerReport, 'holds' | 'failed'>;

/** Samples the policy of one run. */
export class RunSampler implements ServedRun {
  private readonly asked = new Map<string, AbortController>();
  private readonly stopping = new AbortController();
  private readonly responders: Responder[];

  private constructor(
    bus: BusService,
    private readonly identity: Identity,
    private readonly learner: LearnerLink,
    private readonly engine: Engine,
    private readonly weights: HeldWeights,
  ) {
    const { instance } = identity;
    this.responders = [
      bus.respond<SampleMessage>({
        subject: subjects.samplerSample(instance),
        schema: SampleMessage,
        handle: (message) => this.sample(message),
      }),
      bus.respond<CancelSample>({
        subject: subjects.samplerCancel(instance),
        schema: CancelSample,
        handle: async ({ id }) =>
          this.asked.get(id)?.abort(new Error('the caller no longer waits for the answer')),
      }),
      bus.respond<MoveSamples>({
        subject: subjects.samplerMove(instance),
        schema: MoveSamples,
        handle: (message) => this.move(message),
      }),
    ];
  }

  /**
   * Loads the model of a run as its learner has it; null if the run is over before.
   *
   * @throws Misconfigured if the model differs from the learner's
   */
  static async open(options: RunSamplerOptions, signal: AbortSignal): Promise<RunSampler | null> {
    const { bus, runId, cacheDir } = options;
    const learner = new LearnerLink(bus, runId);
    try {
      const { engine, identity } = await startEngine(options, learner, signal);
      try {
        const weights = new HeldWeights({ bus, runId, engine, cacheDir });
        await weights.sweep();
        await learnsOf(identity, learner, signal);
        bus.logger.log(`sampling for run ${runId}, ${identity.rows} at a time on ${identity.device}`);
        return new RunSampler(bus, identity, learner, engine, weights);
      } catch (error) {
        await engine.stop();
        throw error;
      }
    } catch (error) {
      if (error instanceof RunOver) return null;
      throw error;
    }
  }

  /** Loads the assigned weights until the signal aborts, or until the run is over and requests have ceased. */
  async work(signal: AbortSignal): Promise<void> {
    const ended = this.engine.ended.then((error) => {
      throw error;
    });
    await Promise.race([this.follow(signal), ended]);
  }

  async close(): Promise<void> {
    this.stopping.abort();
    // Unanswered requests go to other samplers.
    for (const request of this.asked.values()) request.abort(new Error('the sampler stops'));
    await Promise.all(this.responders.map((responder) => responder.stop()));
    await this.engine.stop();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.stopping.signal]);
    try {
      while (!stop.aborted) {
        const { holds, failed } = this.weights;
        const orders = await this.learner.report({ ...this.identity, holds, failed }, stop);
        if (orders.refused !== undefined) throw new Misconfigured(orders.refused);
        await this.followFor(REPORT_EVERY_MS, orders);
      }
    } catch (error) {
      if (stop.aborted || error instanceof RunOver) return;
      throw error;
    }
  }

  /** Loading continues, however long it takes. */
  private async followFor(ms: number, orders: Parameters<HeldWeights['follow']>[0]): Promise<void> {
    const done = new AbortController();
    const followed = this.weights.follow(orders).finally(() => done.abort());
    // If it fails, the engine has ended.
    followed.catch(() => undefined);
    await sleep(ms, done.signal);
    if (done.signal.aborted) await followed;
  }

  private async sample(message: SampleMessage): Promise<unknown> {
    if (this.stopping.signal.aborted) return failure('stopping', 'the sampler stops');
    const model = this.weights.nameOf(message.weights);
    if (model === undefined)
      return failure('unknown_weights', `this sampler does not have the weights ${message.weights}`);
    const request = requestOf(message);
    if (request instanceof Error) return failure('bad_request', request.message);
    const asked = new AbortController();
    this.asked.set(message.id, asked);
    try {
      const sampled = await this.engine.sample({ ...request, model, signal: asked.signal });
      return writeResult(sampled);
    } catch (error) {
      if (this.stopping.signal.aborted) return failure('stopping', 'the sampler stops');
      if (asked.signal.aborted) return failure('cancelled', (asked.signal.reason as Error).message);
      if (isFaultOfRequest(error)) return failure('bad_request', error.message);
      throw error;
    } finally {
      this.asked.delete(message.id);
    }
  }

  private async move({ from, to }: MoveSamples): Promise<unknown> {
    const [old, next] = [from, to].map((digest) => this.weights.nameOf(digest));
    if (old === undefined || next === undefined)
      return failure('unknown_weights', `this sampler does not have both ${from} and ${to}`);
    if (this.engine.moveSamples === undefined)
      return failure('bad_request', 'the engine of this sampler cannot change the weights of answers');
    await this.engine.moveSamples({ from: old, to: next });
    return {};
  }
}

async function startEngine(
  { bus, runId, run, components, hub, models, cacheDir }: RunSamplerOptions,
  learner: LearnerLink,
  signal: AbortSignal,
): Promise<{ engine: Engine; identity: Identity }> {
  const rows = run.rollout.concurrency;
  // A process may sample for several runs.
  const instance = `${bus.instance}-${randomUUID().slice(0, 4)}`;
  const self = { instance, host: hostname(), rows };
  const {
    model,
    device: begunOn,
    probes = [],
  } = await learner.report({ ...self, device: 'unknown', holds: [], failed: [] }, signal);
  const log: Log = (level, message) => bus.logger[level === 'info' ? 'log' : level](message);
  const onProgress = (line: string): void => log('info', line);
  // A folder in a run file refers to another machine's file system.
  const found = await resolveModel(pinnedName(model.name, model.commit), {
    ...hub,
    models,
    folders: false,
    onProgress,
  });
  const folder = await loadPromptFolder(found.dir);
  const { deterministic, seed } = run.training;
  const { name } = run.engine;
  const engine = await components.create('engine', run.engine, {
    modelDir: found.dir,
    cacheDir,
    models: [{ name: 'policy', role: 'policy', trainable: trainableOf(run.model) }],
    maxRows: rows,
    maxSequence: run.model.max_sequence,
    deterministic,
    seed,
    endTokenIds: folder.tokenizer.eosTokenIds,
    // Sums round differently on another device.
    device: deterministic ? begunOn : undefined,
    componentFiles: components.files,
    environment: readVariables(Object.keys(components.get('engine', name).environment ?? {})),
    fetchImage: (sha256) => learner.image(sha256),
    log,
    onProgress,
  });
  try {
    const { device } = await engine.info();
    const scores = await baseScores(engine, probes);
    bus.logger.debug(`the model of run ${runId} is loaded`);
    return { engine, identity: { ...self, device, scores } };
  } catch (error) {
    await engine.stop();
    throw error;
  }
}

/** The learner verifies that the models are the same. */
async function learnsOf(identity: Identity, learner: LearnerLink, signal: AbortSignal): Promise<void> {
  const { refused } = await learner.report({ ...identity, holds: [], failed: [] }, signal);
  if (refused !== undefined) throw new Misconfigured(refused);
}

function requestOf(message: SampleMessage): ReturnType<typeof readRequest> | Error {
  try {
    return readRequest(message);
  } catch (error) {
    return error as Error;
  }
}

/** Engines report by a category whether the request is at fault. */
function isFaultOfRequest(error: unknown): error is Error {
  return error instanceof Error && 'category' in error && error.category === 'request';
}
