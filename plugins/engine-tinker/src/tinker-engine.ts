import {
  type Engine,
  type EngineContext,
  type EngineInfo,
  type ForwardBackwardRequest,
  type ForwardBackwardResult,
  type ForwardRequest,
  type ForwardResult,
  type ModelName,
  type OptimStepRequest,
  type OptimStepResult,
  type SampleRequest,
  type SampleResult,
  type WeightsInfo,
} from '@ui-rl/plugin-kit';
import { checkService, logprobsOf, metricsOf, mustClip, valuesIfSaid, valuesOf } from './answers';
import { type CheckpointFile, namedOnlyBy, readCheckpoint, readSampled, writeCheckpoint } from './checkpoint';
import { Connection } from './connection';
import { checkPlain, wireData, type WireOptions } from './data';
import { TinkerError } from './errors';
import { chooseLoss, forwardLoss } from './losses';
import { type ModelRequest, modelRequests, type ServiceLoss, serviceOf, type TinkerOptions } from './options';
import { Sampled } from './sampled';
import { SavedWeights } from './saved-weights';
import { scoredAsPrompts } from './scored';
import { findModel, type Service, ServiceSession, textOf } from './session';
import { TrainedModels } from './trained-models';
import { digestOf, isModelGone, type TrainedRun } from './trained-run';

const POLICY: ModelName = 'policy';
const BASE: ModelName = 'base';
/** Recent policy versions kept for sampling: a caller that asked for the previous one may not have started yet. */
const KEPT_NAMES = 2;
/** How long closing may wait for the service to release its resources. */
const PATIENCE_MS = 5_000;

/**
 * A service with Tinker's API as the engine of a run: weights and optimizer are stored there, names and digests here.
 */
export class TinkerEngine implements Engine {
  readonly ended: Promise<Error>;
  private end: (error: Error) => void = () => undefined;
  private gone: Error | undefined;
  private session: ServiceSession;
  private trained: TrainedModels;
  private sampled: Sampled;
  private readonly saved: SavedWeights;
  /** Policy weights that are currently being saved, by name. */
  private readonly saving = new Map<ModelName, Promise<WeightsInfo>>();

  private constructor(
    private readonly connection: Connection,
    private readonly service: Service,
    private readonly context: EngineContext,
    private readonly requests: readonly ModelRequest[],
    private readonly serviceLoss: ServiceLoss,
  ) {
    this.ended = new Promise((resolve) => (this.end = resolve));
    this.saved = new SavedWeights(connection, (path) => this.sampled.uses(path), context.log);
  }

  static async start(options: TinkerOptions, context: EngineContext): Promise<TinkerEngine> {
    const requests = modelRequests(context);
    const { request_timeout_ms: timeoutMs, retry_ms: retryMs, service_loss: serviceLoss } = options;
    const place = serviceOf(options, context.environment);
    if (place.withheld)
      context.log('info', `TINKER_API_KEY is not sent to ${place.address}: it goes to TINKER_BASE_URL alone`);
    const connection = new Connection({
      ...place,
      ...{ timeoutMs, retryMs },
      onFailing: (message) => context.log('warn', message),
    });
    const service = await findModel(connection, options.base_model, context.modelName);
    checkService(service, { ...context, serviceLoss }, connection.address);
    const engine = new TinkerEngine(connection, service, context, requests, serviceLoss);
    await engine.begin();
    const ids = engine.trained.all.map(([name, { id }]) => `${name} ${id}`).join(', ');
    const use =
      ids === '' ? `scores at ${connection.address}` : `is trained by ${connection.address} as ${ids}`;
    context.log('info', `the model ${service.baseModel} ${use}`);
    return engine;
  }

  private async begin(): Promise<void> {
    const { connection, service, context } = this;
    const onLost = (error: Error): void => this.lose(error);
    this.session = await ServiceSession.begin(connection, this.context.log, onLost);
    const { id } = this.session;
    this.trained = new TrainedModels(connection, id, service.baseModel, this.requests, onLost);
    this.sampled = new Sampled(
      connection,
      id,
      service.baseModel,
      this.wire.fetchImage,
      context.endTokenIds,
      () => this.saved.tidy(),
    );
    try {
      await this.trained.create();
      if (this.isFrozen) await this.sampled.open(POLICY, { base: true }, this.baseWeights);
    } catch (error) {
      await this.trained.unloadAll(AbortSignal.timeout(PATIENCE_MS));
      this.session.stop();
      throw error;
    }
  }

  async sample(request: SampleRequest): Promise<SampleResult> {
    this.mustLive();
    if (request.grammar !== undefined) {
      throw new TinkerError(
        'request',
        "Tinker's API knows no grammar of answers (rollout.constrain_actions)",
      );
    }
    if (request.topP < 1 || (request.topK ?? 0) > 0) {
      throw new TinkerError('request', "Tinker's API does not say which tokens top_p and top_k have kept");
    }
    const name = await this.nameOf(request.model);
    return this.sampled.sample(name, request).catch((error: unknown) => {
      if (!this.isFrozen && isModelGone(error) && error.message.includes(this.policy.id)) this.lose(error);
      throw error;
    });
  }

  async forward({ model, data }: ForwardRequest): Promise<ForwardResult> {
    this.mustLive();
    data.forEach(checkPlain);
    const isCritic = this.trained.isCritic(model);
    if (data.length === 0) return { logprobs: [], ...(isCritic ? { values: [] } : {}) };
    if (!this.trained.has(model)) {
      return scoredAsPrompts(this.sampled, await this.nameOf(model), data, this.context.maxRows);
    }
    const run = this.trained.get(model);
    const loss = forwardLoss(run.role);
    const answer = await run.call('forward', async () => ({
      forward_input: { data: await wireData(data, loss, this.wire), loss_fn: loss.name },
      ...this.onlyTrained,
    }));
    return isCritic
      ? { logprobs: [], values: valuesOf(answer, data) }
      : { logprobs: logprobsOf(answer, data) };
  }

  async forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult> {
    this.mustLive();
    const { model, data, loss: choice, regularizers = [] } = request;
    const run = this.trained.get(model);
    if (regularizers.length > 0) {
      throw new TinkerError('request', `Tinker's API adds no ${regularizers[0].name} to a loss`);
    }
    const loss = chooseLoss(choice, run.role);
    const answer = await run.call('forward_backward', async () => ({
      forward_backward_input: {
        data: await wireData(data, loss, this.wire),
        loss_fn: loss.name,
        ...(Object.keys(loss.config).length === 0 ? {} : { loss_fn_config: loss.config }),
      },
      ...this.onlyTrained,
    }));
    run.hasGradients = true;
    const tokens = data.reduce((sum, { weights }) => sum + Array.from(weights).filter(Boolean).length, 0);
    const metrics = { tokens, ...metricsOf(answer) };
    if (run.role === 'policy') return { logprobs: logprobsOf(answer, data), metrics };
    const values = valuesIfSaid(answer, data);
    return { logprobs: [], values, metrics };
  }

  async optimStep({
    model,
    optimizer,
    learningRate,
    maxGradNorm,
  }: OptimStepRequest): Promise<OptimStepResult> {
    this.mustLive();
    const run = this.trained.get(model);
    const { name, beta1, beta2, epsilon, weight_decay } = optimizer;
    if (name !== 'adamw') {
      throw new TinkerError('request', `Tinker's API knows the optimizer adamw alone, not ${name}`);
    }
    const version = run.weights.version + 1;
    const answer = await run.call('optim_step', () => ({
      adam_params: {
        learning_rate: learningRate,
        beta1,
        beta2,
        eps: epsilon,
        weight_decay,
        ...(maxGradNorm > 0 ? { grad_clip_norm: maxGradNorm } : {}),
      },
    }));
    run.hasGradients = false;
    mustClip(answer, maxGradNorm, { role: run.role, address: this.connection.address });
    return { metrics: metricsOf(answer), weights: run.became(answer, version) };
  }

  async saveState({
    model,
    dir,
    files = {},
  }: {
    model: ModelName;
    dir: string;
    files?: Readonly<Record<string, string>>;
  }): Promise<WeightsInfo> {
    this.mustLive();
    const run = this.trained.get(model);
    const { id, weights, role } = run;
    const name = nameOfStep(weights.version);
    const { baseModel: base_model } = this.service;
    const state_path = textOf(await run.save('save_weights', name, { overwrite: true }), 'path');
    if (role === 'critic') {
      await writeCheckpoint(dir, { ...weights, state_path, base_model }, files);
      return weights;
    }
    // Saved once for sampling and for the checkpoint.
    const sampler_path =
      this.saved.take({ run: id, ...weights }) ??
      textOf(await run.save('save_weights_for_sampler', run.unused(name)), 'path');
    const checkpoint: CheckpointFile = { ...weights, state_path, sampler_path, base_model };
    try {
      await writeCheckpoint(dir, checkpoint, files);
    } catch (error) {
      this.saved.add(sampler_path, { run: id, ...weights });
      throw error;
    }
    return weights;
  }

  /** The service deletes weights that no other checkpoint folder references. */
  async forgetState({ dir }: { dir: string }): Promise<void> {
    try {
      this.saved.leave(await namedOnlyBy(dir));
    } catch (error) {
      this.context.log('warn', `the weights of ${dir} stay with the service: ${(error as Error).message}`);
    }
  }

  async loadState({ model, dir, optimizer }: Parameters<Engine['loadState']>[0]): Promise<WeightsInfo> {
    this.mustLive();
    if (this.isFrozen) return this.openCheckpoint(model, dir);
    const { state_path, version, digest } = await readCheckpoint(dir);
    const isRenewed = !this.trained.get(model).isFresh;
    const run = isRenewed ? await this.trained.renew(model) : this.trained.get(model);
    const answer = await run.call('load_weights', () => ({ path: state_path, optimizer }));
    run.hasGradients = false;
    const loaded = run.became(answer, version, digest);
    if (loaded.digest === digest) {
      if (isRenewed && model === POLICY) await this.reopen(loaded);
      return loaded;
    }
    throw new TinkerError(
      'checkpoint',
      `${state_path} has the digest ${loaded.digest}, but ${dir} says ${digest}: the service's weights are others`,
    );
  }

  private async openCheckpoint(name: ModelName, dir: string): Promise<WeightsInfo> {
    const { sampler_path, base_model, version, digest } = await readSampled(dir);
    const { baseModel } = this.service;
    if (base_model === baseModel) return this.sampled.open(name, { path: sampler_path }, { version, digest });
    throw new TinkerError(
      'checkpoint',
      `${dir} has weights of the model ${base_model}, expected ${baseModel}`,
    );
  }

  /**
   * Saves the weights of a model that no longer exists again, by the model that now has them: SkyRL samples only from
   * existing models.
   */
  private async reopen(weights: WeightsInfo): Promise<void> {
    const names = this.sampled.namesOf(weights.digest);
    if (names.length > 0) await this.saveForSampler('again', names, weights);
  }

  /** Saves the current policy weights and binds names to them. */
  private async saveForSampler(
    called: string,
    names: readonly ModelName[],
    weights: WeightsInfo,
  ): Promise<WeightsInfo> {
    const run = this.policy;
    const word = called.replaceAll(/[^\w-]/g, '-').replace(/^[^A-Za-z0-9]/, 'w');
    const wanted = run.unused(`${word}-${nameOfStep(run.weights.version)}`);
    const path = textOf(await run.save('save_weights_for_sampler', wanted), 'path');
    try {
      for (const name of names) await this.sampled.open(name, { path }, weights);
    } finally {
      this.saved.add(path, { run: run.id, ...weights });
    }
    return weights;
  }

  async saveWeightsForSampler({
    model,
    name,
    dir,
  }: Parameters<Engine['saveWeightsForSampler']>[0]): Promise<WeightsInfo> {
    this.mustLive();
    this.mustSample(model);
    if (model === BASE) return this.sampled.open(name, { base: true }, this.baseWeights);
    if (dir !== undefined) {
      const { sampler_path, version, digest } = await readSampled(dir);
      // Weights loaded from elsewhere belong to the model that now has them.
      const { id, weights } = this.policy;
      const isCurrent = digest === weights.digest && !sampler_path.includes(id);
      if (isCurrent) return this.saveForSampler(name, [name], { version, digest });
      return this.sampled.open(name, { path: sampler_path }, { version, digest });
    }
    if (model !== POLICY) {
      const known = this.sampled.find(model);
      return this.sampled.open(name, known.source, known.weights);
    }
    return this.saveForSampler(name, [name], this.policy.weights);
  }

  async exportWeights(): Promise<never> {
    throw new TinkerError(
      'request',
      `the weights lie with ${this.connection.address}, which has its own way to give them out; a sampler of servers needs engine local`,
    );
  }

  releaseWeights(name: string): Promise<void> {
    this.sampled.release(name);
    return Promise.resolve();
  }

  /**
   * Tinker's API cannot discard gradients, so unapplied ones end the engine, and the run resumes from its newest
   * checkpoint.
   */
  async discardGradients(model: ModelName): Promise<void> {
    if (!this.trained.get(model).hasGradients) return;
    const error = new TinkerError(
      'worker',
      "gradients wait for a step that will not come, and Tinker's API cannot discard them: the run has to continue from its newest checkpoint",
    );
    this.lose(error);
    throw error;
  }

  async info(): Promise<EngineInfo> {
    this.mustLive();
    return {
      name: 'tinker',
      device: 'tinker',
      deviceReason: `the service at ${this.connection.address}`,
      trainedParameters: 0,
      models: [...this.trained.all.map(([name]) => name), BASE, ...this.sampled.names],
      maxSequence: this.context.maxSequence,
      service: this.connection.address,
      baseModel: this.service.baseModel,
      serviceModelIds: Object.fromEntries(this.trained.all.map(([name, { id }]) => [name, id])),
      weights: Object.fromEntries(this.trained.all.map(([name, { weights }]) => [name, weights])),
    };
  }

  async stop(): Promise<void> {
    if (this.gone === undefined) {
      const patience = AbortSignal.timeout(PATIENCE_MS);
      await this.trained.unloadAll(patience);
      await this.saved.close(patience);
    }
    this.lose(new TinkerError('worker', 'the engine was stopped'));
  }

  /** Whether no model is trained. */
  private get isFrozen(): boolean {
    return this.requests.length === 0;
  }

  private get policy(): TrainedRun {
    return this.trained.get(POLICY);
  }

  /** Asks services that support it to skip model outputs at positions without weight. */
  private get onlyTrained(): object {
    return this.service.extensions.has('untrained_logprobs') ? { untrained_logprobs: false } : {};
  }

  private get wire(): WireOptions {
    return {
      fetchImage: (sha256: string) => this.context.fetchImage(sha256),
      takesWeights: this.service.extensions.has('weights'),
      serviceLoss: this.serviceLoss,
    };
  }

  private get baseWeights(): WeightsInfo {
    return { version: 0, digest: digestOf(`${this.connection.address} ${this.service.baseModel}`) };
  }

  /** The name of weights for sampling; saves the newest policy weights on demand. */
  private async nameOf(model: ModelName): Promise<ModelName> {
    if (model === BASE) {
      if (!this.sampled.has(BASE)) await this.sampled.open(BASE, { base: true }, this.baseWeights);
      return BASE;
    }
    this.mustSample(model);
    if (model !== POLICY || this.isFrozen) return model;
    const name = `${POLICY}#${this.policy.weights.digest.slice(0, 16)}`;
    if (this.sampled.has(name)) return name;
    // Saved once for all concurrent callers.
    const saving = this.saving.get(name) ?? this.saveWeightsForSampler({ model: POLICY, name });
    this.saving.set(name, saving);
    await saving.finally(() => this.saving.delete(name));
    const older = this.sampled.names.filter((each) => each.startsWith(`${POLICY}#`)).slice(0, -KEPT_NAMES);
    for (const each of older) this.sampled.release(each);
    return name;
  }

  private mustSample(model: ModelName): void {
    if (!this.trained.isCritic(model)) return;
    throw new TinkerError('request', `${model} is a critic, which gives values and no tokens`);
  }

  private mustLive(): void {
    if (this.gone !== undefined) throw this.gone;
  }

  private lose(error: Error): void {
    if (this.gone !== undefined) return;
    this.gone = error instanceof TinkerError && error.category === 'worker' ? error : asLoss(error);
    this.session?.stop();
    this.saved.abandon();
    this.end(this.gone);
  }
}

function asLoss(error: Error): TinkerError {
  return new TinkerError('worker', error.message, { cause: error });
}

function nameOfStep(version: number): string {
  return String(version).padStart(6, '0');
}
