import { chooseSamplers } from './samplers';
import type {
  EngineInfo,
  EngineOptions,
  GenerateRequest,
  GenerateResult,
  PolicyWeights,
  SampleLogprobs,
  TrainSample,
  TrainStepRequest,
  TrainStepResult,
  WeightsInfo,
} from './types';
import { WorkerThread } from './worker-thread';
import type { EngineError } from './errors';

/** Rows a thread takes before another one helps: with fewer, reading the weights is most of the work. */
const ROWS_BEFORE_HELP = 16;

/**
 * Handle of a device worker: a thread that owns all sessions of a device, generates and trains. Where many rows are sampled
 * from a small model on several cores, further threads help to sample: its operations are too short to be shared by threads
 * each. Calls may overlap; generation goes on between the micro-batches of a training step. Every call rejects with an
 * `EngineError`; category `worker` after a thread has failed.
 */
export class Engine {
  /** Resolves when a thread is gone, by `stop` or by a failure, with what calls are rejected with from then on. */
  readonly ended: Promise<EngineError>;
  /** While weights are on their way to the helpers, nothing new is sampled. */
  private handingOver: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly device: WorkerThread,
    private readonly helpers: readonly WorkerThread[],
  ) {
    this.ended = Promise.race(this.threads.map(({ ended }) => ended));
    if (helpers.length > 0) void this.ended.then(() => this.stop());
  }

  /** Starts the threads and loads model and adapter. */
  static async start(options: EngineOptions): Promise<Engine> {
    const samplers = await chooseSamplers(options);
    const helpers = Array.from({ length: samplers - 1 }, () => new WorkerThread());
    const engine = new Engine(new WorkerThread(), helpers);
    const own = { ...options, samplers };
    try {
      await Promise.all(engine.threads.map((thread) => thread.call('start', own)));
    } catch (error) {
      await engine.stop();
      throw error;
    }
    return engine;
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    await this.handingOver;
    return this.idlest().call('generate', request);
  }

  /** One optimizer step over all samples. Generation that is under way ends with the weights it began with. */
  async trainStep(request: TrainStepRequest): Promise<TrainStepResult> {
    const result = await this.device.call<TrainStepResult>('trainStep', request);
    await this.handOver('latest');
    return result;
  }

  /** What the newest weights say of given sequences, one array per sample. */
  logprobs(samples: TrainSample[]): Promise<SampleLogprobs[]> {
    return this.device.call('logprobs', samples);
  }

  /**
   * Writes weights (adapter in PEFT format, or the whole model as a Hugging Face folder), optimizer state and the given
   * files into a folder that appears complete or not at all.
   * @param files names and text of further files, `state.json` for example
   */
  save(dir: string, files: Record<string, string> = {}): Promise<WeightsInfo> {
    return this.device.call('save', { dir, files });
  }

  /** Goes on from a folder that `save` wrote: weights, optimizer state, version. */
  async load(dir: string): Promise<WeightsInfo> {
    const info = await this.device.call<WeightsInfo>('load', { dir });
    await this.handOver('latest');
    return info;
  }

  /** Keeps the newest weights under an id, or those of a folder that `save` wrote. */
  async snapshot(id: string, dir?: string): Promise<WeightsInfo> {
    const info = await this.device.call<WeightsInfo>('snapshot', { id, dir });
    await this.handOver(id);
    return info;
  }

  /** Lets go of a snapshot; what is being generated with it ends normally. */
  async dropSnapshot(id: string): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.call('dropSnapshot', { id })));
  }

  async info(): Promise<EngineInfo> {
    const [info, ...others] = await Promise.all(
      this.threads.map((thread) => thread.call<EngineInfo>('info', undefined)),
    );
    for (const other of others) {
      info.maxRows += other.maxRows;
      info.rowsActive += other.rowsActive;
      info.rowsWaiting += other.rowsWaiting;
      info.generatedTokens += other.generatedTokens;
      for (const [name, value] of Object.entries(other.times)) {
        info.times[name as keyof EngineInfo['times']] += value;
      }
    }
    return info;
  }

  /** Ends the threads; calls under way are rejected. */
  async stop(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.stop()));
  }

  private get threads(): readonly WorkerThread[] {
    return [this.device, ...this.helpers];
  }

  private idlest(): WorkerThread {
    if (this.device.active < ROWS_BEFORE_HELP) return this.device;
    return this.threads.reduce((idlest, thread) => (thread.active < idlest.active ? thread : idlest));
  }

  /** Gives a policy's weights to the threads that help to sample. */
  private async handOver(policy: string): Promise<void> {
    if (this.helpers.length === 0) return;
    const handing = this.device
      .call<PolicyWeights>('weights', { policy })
      .then((weights) => Promise.all(this.helpers.map((helper) => helper.call('adopt', weights))));
    this.handingOver = handing.catch(() => undefined);
    await handing;
  }
}
