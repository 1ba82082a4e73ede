import { initializeLora } from '@ui-rl/models';
import type {
  TrainedModel as Description,
  EngineInfo,
  ForwardBackwardResult,
  ForwardResult,
  ModelName,
  OptimStepRequest,
  OptimStepResult,
  WeightsInfo,
} from '@ui-rl/plugin-kit';
import { Device } from './device/device';
import type { Network } from './device/network';
import { EngineError } from './errors';
import type { GenerationResult } from './generation/job';
import type { ProgressReporter } from './progress';
import { Algorithms } from './training/algorithms';
import { checkpointsOf, TrainedModel } from './training/trained-model';
import { Trainer } from './training/trainer';
import { WeightSet } from './weights/weight-set';
import type {
  WorkerArgument,
  WorkerForwardBackwardRequest,
  WorkerForwardRequest,
  WorkerMethod,
  WorkerOptions,
  WorkerResult,
  WorkerSampleRequest,
} from './worker-api';

/** Sends an event to the caller while its call is in progress. */
type Tell = (event: unknown) => void;

type Handlers = {
  [M in WorkerMethod]: (argument: WorkerArgument<M>, tell?: Tell) => Promise<WorkerResult<M>>;
};

/** Weights that can be sampled from and scored with. */
interface NamedWeights {
  network: Network;
  weights: WeightSet;
}

/** The weights as loaded, without an adapter. */
const BASE: ModelName = 'base';

interface Running {
  device: Device;
  options: WorkerOptions;
  algorithms: Algorithms;
  trainer: Trainer;
  models: Map<ModelName, TrainedModel>;
  base: NamedWeights;
}

/**
 * Owns one device: its sessions, the models trained on it and the retained weights. Generation runs concurrently;
 * operations that change or write weights run one after the other.
 */
export class DeviceWorker {
  private started: Running | undefined;
  /** Weights retained under a name. */
  private readonly kept = new Map<ModelName, NamedWeights>();
  /** Weights that were replaced while they were being sampled from. */
  private readonly replaced = new Set<WeightSet>();
  /** Samples in progress, by request id. */
  private readonly sampling = new Map<number, AbortController>();
  private exclusive: Promise<unknown> = Promise.resolve();

  constructor(private readonly onProgress: ProgressReporter = () => undefined) {}

  private readonly handlers: Handlers = {
    start: (options) => this.start(options),
    sample: (request, tell) => this.sample(request, tell),
    cancel: (id) => Promise.resolve(this.sampling.get(id)?.abort()),
    forward: (request) => this.inTurn(() => this.forward(request)),
    forwardBackward: (request) => this.inTurn(() => this.forwardBackward(request)),
    optimStep: (request) => this.inTurn(() => this.optimStep(request)),
    saveState: (request) => this.inTurn(() => this.saveState(request)),
    loadState: (request) => this.inTurn(() => this.loadState(request)),
    saveWeightsForSampler: (request) => this.inTurn(() => this.saveWeights(request)),
    moveSamples: (request) => this.moveSamples(request),
    exportWeights: (request) => this.inTurn(() => this.exportWeights(request)),
    releaseWeights: (name) => this.inTurn(() => this.releaseWeights(name)),
    addModel: (model) => this.inTurn(() => this.addModel(model)),
    removeModel: (name) => this.inTurn(() => this.removeModel(name)),
    discardGradients: (model) => this.inTurn(() => this.trained(model).discardGradients()),
    info: () => this.info(),
    stop: () => this.stop(),
  };

  handle<M extends WorkerMethod>(
    method: M,
    argument: WorkerArgument<M>,
    tell?: Tell,
  ): Promise<WorkerResult<M>> {
    return this.handlers[method](argument, tell);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.exclusive.then(work);
    this.exclusive = result.catch(() => undefined);
    return result;
  }

  private get running(): Running {
    if (this.started !== undefined) return this.started;
    throw new EngineError('worker', 'the engine has not been started');
  }

  private async start(options: WorkerOptions): Promise<void> {
    const algorithms = await Algorithms.load(options.componentFiles);
    const device = await Device.open(options, this.onProgress);
    const models = new Map<ModelName, TrainedModel>();
    for (const description of options.models) {
      checkName(description.name, models);
      const model = await TrainedModel.create(description, device, options.seed);
      models.set(description.name, model);
      // Creates the sampler before the first request.
      if (description.role === 'policy') await model.network.sampler();
    }
    const trainer = new Trainer(options.microBatch ?? {});
    const base = baseOf(device, models, options.seed);
    this.started = { device, options, algorithms, trainer, models, base };
  }

  /** Weights by the name in a request. */
  private weightsOf(name: ModelName): NamedWeights {
    const { models, base } = this.running;
    if (name === BASE) return base;
    const found = models.get(name) ?? this.kept.get(name);
    if (found !== undefined) return found;
    throw new EngineError('request', `there is no model "${name}"; known: ${this.names.join(', ')}`);
  }

  private get names(): ModelName[] {
    return [...this.running.models.keys(), BASE, ...this.kept.keys()];
  }

  /** A model whose weights can be trained. */
  private trained(name: ModelName): TrainedModel {
    const { models } = this.running;
    const model = models.get(name);
    if (model === undefined) {
      const known = [...models.keys()].join(', ');
      throw new EngineError('request', `no model "${name}" is trained; those that are: ${known}`);
    }
    model.mustBeTrained();
    return model;
  }

  private async sample({ id, ...request }: WorkerSampleRequest, tell?: Tell): Promise<GenerationResult> {
    const caller = new AbortController();
    this.sampling.set(id, caller);
    const onBegin = tell && ((): void => tell(null));
    const onToken = tell && ((token: number, logprob: number): void => tell([token, logprob]));
    try {
      return await this.generate({ ...request, onBegin, onToken }, caller.signal);
    } finally {
      this.sampling.delete(id);
    }
  }

  private async generate(
    { model, ...request }: Omit<WorkerSampleRequest, 'id'>,
    signal: AbortSignal,
  ): Promise<GenerationResult> {
    const { network, weights } = this.weightsOf(model);
    const sampler = await network.sampler();
    // Replaced while the sampler was created: the memory that they occupy again has to be freed again.
    if (!this.canBeNamed(weights)) this.replaced.add(weights);
    return this.running.device.generator.generate(sampler, weights, request, signal);
  }

  private async forward({ model, data }: WorkerForwardRequest): Promise<ForwardResult> {
    const { network, weights } = this.weightsOf(model);
    return named(network, await this.running.trainer.forward(network.passes, weights, data));
  }

  private async forwardBackward(request: WorkerForwardBackwardRequest): Promise<ForwardBackwardResult> {
    const { trainer, algorithms } = this.running;
    const { data, minPasses } = request;
    const loss = algorithms.loss(request.loss, request.regularizers);
    const model = this.trained(request.model);
    const { scores, metrics } = await trainer.forwardBackward(model, { data, loss, minPasses });
    return { ...named(model.network, scores), metrics };
  }

  private async optimStep(request: OptimStepRequest): Promise<OptimStepResult> {
    const model = this.trained(request.model);
    const before = model.weights;
    const { weights, norm } = await model.step({
      chosen: this.running.algorithms.optimizer(request.optimizer),
      learningRate: request.learningRate,
      maxNorm: request.maxGradNorm,
    });
    await this.replace(before);
    return { metrics: { grad_norm: norm }, weights: infoOf(weights) };
  }

  private async saveState(request: {
    model: ModelName;
    dir: string;
    files?: Record<string, string>;
  }): Promise<WeightsInfo> {
    const model = this.trained(request.model);
    await model.save(request.dir, request.files ?? {});
    return infoOf(model.weights);
  }

  private async loadState(request: {
    model: ModelName;
    dir: string;
    optimizer: boolean;
  }): Promise<WeightsInfo> {
    const model = this.trained(request.model);
    const before = model.weights;
    await model.load(request.dir, request);
    await this.replace(before);
    return infoOf(model.weights);
  }

  private async saveWeights(request: { model: ModelName; name: string; dir?: string }): Promise<WeightsInfo> {
    const { model, name, dir } = request;
    checkName(name, this.running.models);
    const { network, weights } = this.weightsOf(model);
    network.mustSample();
    const kept =
      dir === undefined
        ? { network, weights }
        : { network, weights: await this.trained(model).checkpoints.load(dir) };
    const before = this.kept.get(name);
    this.kept.set(name, kept);
    if (before !== undefined) await this.replace(before.weights);
    return infoOf(kept.weights);
  }

  private async moveSamples({ from, to }: { from: ModelName; to: ModelName }): Promise<void> {
    const [old, others] = [this.weightsOf(from), this.weightsOf(to)];
    if (old.network !== others.network) {
      throw new EngineError(
        'request',
        `samples of "${from}" cannot continue with "${to}", which is another model`,
      );
    }
    await this.running.device.generator.move(old.weights, others.weights);
  }

  private async exportWeights({
    name,
    dir,
  }: {
    name: ModelName;
    dir: string;
  }): Promise<WeightsInfo & { isBase: boolean }> {
    const { network, weights } = this.weightsOf(name);
    const isBase = network.layout.mode === 'frozen';
    if (!isBase) await checkpointsOf(this.running.device, network).export(dir, weights);
    return { ...infoOf(weights), isBase };
  }

  private async releaseWeights(name: ModelName): Promise<void> {
    const released = this.kept.get(name);
    this.kept.delete(name);
    if (released !== undefined) await this.replace(released.weights);
  }

  private async addModel({ seed, ...description }: Description & { seed: number }): Promise<WeightsInfo> {
    const { device, models } = this.running;
    const { name } = description;
    checkName(name, models);
    if (this.kept.has(name))
      throw new EngineError('request', `"${name}" is the name of weights that were kept`);
    const model = await TrainedModel.create(description, device, seed);
    models.set(name, model);
    return infoOf(model.weights);
  }

  private async removeModel(name: ModelName): Promise<void> {
    const { models, options } = this.running;
    const model = models.get(name);
    if (model === undefined || options.models.some((first) => first.name === name)) {
      throw new EngineError('request', `no model "${name}" was added`);
    }
    models.delete(name);
    await model.release();
    await this.replace(model.weights);
  }

  /** Frees the device memory of weights that can no longer be requested, once they are no longer sampled from. */
  private async replace(old: WeightSet): Promise<void> {
    this.replaced.add(old);
    const { generator } = this.running.device;
    for (const weights of this.replaced) {
      if (generator.uses(weights)) continue;
      this.replaced.delete(weights);
      if (this.canBeNamed(weights)) continue;
      this.running.device.forget(weights);
      await weights.free();
    }
  }

  /** Whether a request can still name these weights. */
  private canBeNamed(weights: WeightSet): boolean {
    const { models, base } = this.running;
    const named = [...models.values(), ...this.kept.values(), base];
    return named.some((each) => each.weights === weights);
  }

  private async stop(): Promise<void> {
    await this.started?.device.generator.stop(new EngineError('worker', 'the engine was stopped'));
    await this.inTurn(() => this.release());
  }

  private async release(): Promise<void> {
    if (this.started === undefined) return;
    const { device, models, base } = this.started;
    // Before the sessions: releasing the last session releases the device.
    for (const model of models.values()) await model.release();
    const kept = [...models.values(), ...this.kept.values(), base].map(({ weights }) => weights);
    for (const weights of [...kept, ...this.replaced]) await weights.free();
    await device.release();
    this.started = undefined;
  }

  private async info(): Promise<EngineInfo> {
    const { device, options, trainer, models } = this.running;
    const { rowsActive, rowsWaiting, counts } = device.generator;
    const { caches } = device;
    const [first] = models.values();
    return {
      name: 'local',
      device: options.device,
      trainedParameters: [...models.values()].reduce((sum, { weights }) => sum + weights.parameters, 0),
      models: this.names,
      maxSequence: options.maxSequence,
      modelDir: options.modelDir,
      family: device.base.folder.family.name,
      mode: first?.description.trainable.mode,
      weights: Object.fromEntries(Array.from(models, ([name, { weights }]) => [name, infoOf(weights)])),
      maxRows: options.maxRows,
      rowsActive,
      rowsWaiting,
      ...counts,
      caches: {
        limitBytes: caches.limitBytes,
        usedBytes: caches.usedBytes,
        ...caches.usage,
        evictions: caches.evictions,
      },
      times: { ...(await device.samplingTimes()), trainMs: trainer.trainMs },
    };
  }
}

/** Labels the scores by the model's role. */
function named({ role }: Network, scores: Float32Array[]): ForwardResult {
  return role === 'critic' ? { logprobs: [], values: scores } : { logprobs: scores };
}

function infoOf({ version, digest }: WeightSet): WeightsInfo {
  return { version, digest };
}

function checkName(name: ModelName, models: ReadonlyMap<ModelName, unknown>): void {
  if (name !== '' && name !== BASE && !models.has(name)) return;
  throw new EngineError('request', `"${name}" cannot be the name of weights: it means others already`);
}

/**
 * The model without its trained part. Each sampling session over packed 4-bit layers holds its own copy of them, so
 * there a zero adapter in the trained adapter's sessions takes the place of a separate base model.
 */
function baseOf(device: Device, models: ReadonlyMap<ModelName, TrainedModel>, seed: number): NamedWeights {
  const adapted = [...models.values()].find(({ network }) => network.layout.mode === 'lora');
  if (device.base.quantized?.kind === 'int4' && adapted?.network.layout.mode === 'lora') {
    const { network } = adapted;
    return { network, weights: new WeightSet(0, initializeLora(adapted.network.layout.plan, seed)) };
  }
  return { network: device.network({ mode: 'frozen' }), weights: WeightSet.none() };
}
