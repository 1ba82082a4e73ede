import { EngineError } from './errors';
import { DeviceModel } from './device-model';
import type {
  EngineInfo,
  EngineOptions,
  GenerateRequest,
  GenerateResult,
  SampleLogprobs,
  TrainSample,
  TrainStepRequest,
  TrainStepResult,
  WeightsInfo,
} from './types';
import type { ProgressReporter } from './progress';
import type { WeightSet } from './weights';

type Handler = (argument: never) => Promise<unknown>;

/**
 * Owns one device: the sessions, the weights of the policy and their snapshots. Generation runs as requests come;
 * whatever changes or writes weights runs one after the other.
 */
export class DeviceWorker {
  private model: DeviceModel | undefined;
  private options: EngineOptions | undefined;
  private latest: WeightSet | undefined;
  private readonly snapshots = new Map<string, WeightSet>();
  /** Weights that were replaced while responses were sampled with them. */
  private readonly replaced = new Set<WeightSet>();
  private exclusive: Promise<unknown> = Promise.resolve();

  constructor(private readonly onProgress: ProgressReporter = () => undefined) {}

  private readonly handlers: Record<string, Handler> = {
    start: (options: EngineOptions) => this.start(options),
    generate: (request: GenerateRequest) => this.generate(request),
    trainStep: (request: TrainStepRequest) => this.inTurn(() => this.trainStep(request)),
    logprobs: (samples: TrainSample[]) => this.inTurn(() => this.logprobs(samples)),
    save: ({ dir, files }: { dir: string; files: Record<string, string> }) =>
      this.inTurn(() => this.save(dir, files)),
    load: ({ dir }: { dir: string }) => this.inTurn(() => this.load(dir)),
    snapshot: ({ id, dir }: { id: string; dir?: string }) => this.inTurn(() => this.snapshot(id, dir)),
    dropSnapshot: ({ id }: { id: string }) => this.dropSnapshot(id),
    info: async () => this.info(),
    stop: () => this.inTurn(() => this.stop()),
  };

  async handle(method: string, argument: unknown): Promise<unknown> {
    const handler = this.handlers[method];
    if (handler === undefined) throw new EngineError('worker', `the device worker has no method "${method}"`);
    return handler(argument as never);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.exclusive.then(work);
    this.exclusive = result.catch(() => undefined);
    return result;
  }

  private get running(): { model: DeviceModel; latest: WeightSet; options: EngineOptions } {
    const { model, latest, options } = this;
    if (model === undefined || latest === undefined || options === undefined) {
      throw new EngineError('worker', 'the engine has not been started');
    }
    return { model, latest, options };
  }

  /** What is running, if it has weights of its own that can change. */
  private get training(): { model: DeviceModel; latest: WeightSet } {
    const { running } = this;
    if (running.options.trainable.mode !== 'frozen') return running;
    throw new EngineError(
      'request',
      'the engine was started with frozen weights: there is nothing to train or to save',
    );
  }

  private async start(options: EngineOptions): Promise<void> {
    this.options = options;
    this.model = await DeviceModel.create(options, this.onProgress);
    this.latest = await this.model.initialWeights();
  }

  private async generate(request: GenerateRequest): Promise<GenerateResult> {
    return this.running.model.generate(this.weightsOf(request.policy ?? 'latest'), request);
  }

  private weightsOf(policy: string): WeightSet {
    if (policy === 'latest') return this.running.latest;
    const weights = this.snapshots.get(policy);
    if (weights !== undefined) return weights;
    const known = ['latest', ...this.snapshots.keys()].join(', ');
    throw new EngineError('request', `there is no policy "${policy}"; known: ${known}`);
  }

  private async trainStep(request: TrainStepRequest): Promise<TrainStepResult> {
    const { model, latest } = this.training;
    const { metrics, weights } = await model.trainer.step(request, latest);
    await this.replaceLatest(weights);
    return { metrics, version: weights.version, digest: weights.digest };
  }

  private async logprobs(samples: TrainSample[]): Promise<SampleLogprobs[]> {
    const { model, latest } = this.running;
    return model.trainer.logprobs(samples, latest);
  }

  private async save(dir: string, files: Record<string, string>): Promise<WeightsInfo> {
    const { model, latest } = this.training;
    return model.checkpoints.save(dir, latest, files);
  }

  private async load(dir: string): Promise<WeightsInfo> {
    const { model } = this.running;
    const weights = await model.checkpoints.load(dir, { optimizer: true });
    await this.replaceLatest(weights);
    return infoOf(weights);
  }

  private async snapshot(id: string, dir: string | undefined): Promise<WeightsInfo> {
    if (id === 'latest' || id === '')
      throw new EngineError('request', `a snapshot cannot have the id "${id}"`);
    const { model, latest } = this.running;
    const weights = dir === undefined ? latest : await model.checkpoints.load(dir, { optimizer: false });
    const before = this.snapshots.get(id);
    this.snapshots.set(id, weights);
    if (before !== undefined) this.replaced.add(before);
    await this.freeReplaced();
    return infoOf(weights);
  }

  private async dropSnapshot(id: string): Promise<void> {
    const weights = this.snapshots.get(id);
    this.snapshots.delete(id);
    if (weights !== undefined) this.replaced.add(weights);
    await this.freeReplaced();
  }

  private async replaceLatest(weights: WeightSet): Promise<void> {
    if (this.latest !== undefined) this.replaced.add(this.latest);
    this.latest = weights;
    await this.freeReplaced();
  }

  /** Frees the device's memory of weights that nothing can ask for any more. */
  private async freeReplaced(): Promise<void> {
    const known = new Set([this.latest, ...this.snapshots.values()]);
    for (const weights of this.replaced) {
      if (this.model?.samples(weights) === true) continue;
      this.replaced.delete(weights);
      if (!known.has(weights)) await weights.free();
    }
  }

  private async stop(): Promise<void> {
    // Before the sessions: with the last of them goes the device.
    for (const weights of [this.latest, ...this.snapshots.values(), ...this.replaced]) await weights?.free();
    await this.model?.release();
    this.model = undefined;
  }

  private info(): EngineInfo {
    const { model, latest, options } = this.running;
    return {
      modelDir: options.modelDir,
      family: model.familyName,
      device: options.device,
      mode: options.trainable.mode,
      version: latest.version,
      digest: latest.digest,
      trainedParameters: latest.parameters,
      snapshots: [...this.snapshots.keys()],
      maxRows: options.maxRows,
      maxSequence: options.maxSequence,
      ...model.load(),
    };
  }
}

function infoOf(weights: WeightSet): WeightsInfo {
  return { version: weights.version, digest: weights.digest };
}
