import {
  type Datum,
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
import { checkService, logprobsOf, metricsOf, mustClip } from './answers';
import { type CheckpointFile, readCheckpoint, writeCheckpoint } from './checkpoint';
import { Connection } from './connection';
import { checkPlain, tokensOf, wireData, type WireOptions } from './data';
import { TinkerError } from './errors';
import { chooseLoss } from './losses';
import { loraConfig, type ServiceLoss, serviceOf, type TinkerOptions } from './options';
import { Sampled } from './sampled';
import { findModel, type Service, ServiceSession, textOf } from './session';
import { digestOf, isModelGone, TrainedRun } from './trained-run';

const POLICY: ModelName = 'policy';
const BASE: ModelName = 'base';

/** A service of Tinker's API as the engine of a run: weights and optimizer lie there, names and digests here. */
export class TinkerEngine implements Engine {
  readonly ended: Promise<Error>;
  private end: (error: Error) => void = () => undefined;
  private gone: Error | undefined;
  private session: ServiceSession;
  private run: TrainedRun;
  private sampled: Sampled;
  private models = 0;
  /** Names of the policy's weights that are being saved. */
  private readonly saving = new Map<ModelName, Promise<WeightsInfo>>();

  private constructor(
    private readonly connection: Connection,
    private readonly service: Service,
    private readonly context: EngineContext,
    private readonly lora: object,
    private readonly serviceLoss: ServiceLoss,
  ) {
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  static async start(options: TinkerOptions, context: EngineContext): Promise<TinkerEngine> {
    const lora = loraConfig(context);
    const { request_timeout_ms: timeoutMs, retry_ms: retryMs, service_loss: serviceLoss } = options;
    const connection = new Connection({ ...serviceOf(options, context.environment), timeoutMs, retryMs });
    const service = await findModel(connection, options.base_model);
    checkService(service, { ...context, serviceLoss }, connection.address);
    const engine = new TinkerEngine(connection, service, context, lora, serviceLoss);
    await engine.begin();
    context.log(
      'info',
      `the model ${service.baseModel} is trained by ${connection.address} as ${engine.run.id}`,
    );
    return engine;
  }

  private async begin(): Promise<void> {
    const { connection, service, context } = this;
    const onLost = (error: Error): void => this.lose(error);
    this.session = await ServiceSession.begin(connection, this.context.log, onLost);
    try {
      this.run = await this.createModel();
      const { fetchImage } = this.wire;
      const { endTokenIds } = context;
      this.sampled = new Sampled(connection, this.session.id, service.baseModel, fetchImage, endTokenIds);
    } catch (error) {
      this.session.stop();
      throw error;
    }
  }

  private async createModel(): Promise<TrainedRun> {
    const created = await this.connection.result('create_model', {
      session_id: this.session.id,
      model_seq_id: this.models++,
      base_model: this.service.baseModel,
      lora_config: this.lora,
      type: 'create_model',
    });
    const run = new TrainedRun(this.connection, textOf(created, 'model_id'), (error) => this.lose(error));
    run.became(created, 0);
    return run;
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
      if (isModelGone(error) && error.message.includes(this.run.id)) this.lose(error);
      throw error;
    });
  }

  async forward({ model, data }: ForwardRequest): Promise<ForwardResult> {
    this.mustLive();
    data.forEach(checkPlain);
    if (data.length === 0) return { logprobs: [] };
    if (model !== POLICY) return this.scored(await this.nameOf(model), data);
    const loss = chooseLoss({ name: 'cross_entropy' });
    const answer = await this.run.call('forward', async () => ({
      forward_input: { data: await wireData(data, loss, this.wire), loss_fn: loss.name },
    }));
    return { logprobs: logprobsOf(answer, data) };
  }

  /** Log-probabilities of other weights than those that are trained: as those of a prompt. */
  private async scored(model: ModelName, data: readonly Datum[]): Promise<ForwardResult> {
    return {
      logprobs: await Promise.all(
        data.map(async (datum, index) => {
          const { targetTokens, weights } = datum;
          const tokens = [...tokensOf(datum).slice(1), targetTokens[targetTokens.length - 1]];
          const wrong = tokens.findIndex(
            (token, place) => weights[place] !== 0 && token !== targetTokens[place],
          );
          if (wrong >= 0) {
            throw new TinkerError(
              'request',
              `datum ${index} asks at position ${wrong} for another token than the one that follows, of other weights than those that are trained`,
            );
          }
          const said = await this.sampled.promptLogprobs(
            model,
            datum.modelInput,
            targetTokens[targetTokens.length - 1],
          );
          return Float32Array.from(weights, (weight, place) =>
            weight === 0 ? Number.NaN : (said[place + 1] ?? Number.NaN),
          );
        }),
      ),
    };
  }

  async forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult> {
    this.mustLive();
    const { model, data, loss: choice, regularizers = [] } = request;
    this.mustTrain(model);
    if (regularizers.length > 0) {
      throw new TinkerError('request', `Tinker's API adds no ${regularizers[0].name} to a loss`);
    }
    const loss = chooseLoss(choice);
    const answer = await this.run.call('forward_backward', async () => ({
      forward_backward_input: {
        data: await wireData(data, loss, this.wire),
        loss_fn: loss.name,
        ...(Object.keys(loss.config).length === 0 ? {} : { loss_fn_config: loss.config }),
      },
      ...(this.service.extensions.has('untrained_logprobs') ? { untrained_logprobs: false } : {}),
    }));
    this.run.hasGradients = true;
    const metrics = metricsOf(answer);
    const tokens = data.reduce((sum, { weights }) => sum + Array.from(weights).filter(Boolean).length, 0);
    return { logprobs: logprobsOf(answer, data), metrics: { tokens, ...metrics } };
  }

  async optimStep({
    model,
    optimizer,
    learningRate,
    maxGradNorm,
  }: OptimStepRequest): Promise<OptimStepResult> {
    this.mustLive();
    this.mustTrain(model);
    const { name, beta1, beta2, epsilon, weight_decay } = optimizer;
    if (name !== 'adamw') {
      throw new TinkerError('request', `Tinker's API knows the optimizer adamw alone, not ${name}`);
    }
    const version = this.run.weights.version + 1;
    const answer = await this.run.call('optim_step', () => ({
      adam_params: {
        learning_rate: learningRate,
        beta1,
        beta2,
        eps: epsilon,
        weight_decay,
        ...(maxGradNorm > 0 ? { grad_clip_norm: maxGradNorm } : {}),
      },
    }));
    this.run.hasGradients = false;
    mustClip(answer, maxGradNorm, this.connection.address);
    return { metrics: metricsOf(answer), weights: this.run.became(answer, version) };
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
    this.mustTrain(model);
    const { weights } = this.run;
    const path = nameOfStep(weights.version);
    const saved = await this.run.save('save_weights', path, { overwrite: true });
    const sampled = await this.run.save('save_weights_for_sampler', path);
    const checkpoint: CheckpointFile = {
      ...weights,
      state_path: textOf(saved, 'path'),
      sampler_path: textOf(sampled, 'path'),
      base_model: this.service.baseModel,
    };
    await writeCheckpoint(dir, checkpoint, files);
    return weights;
  }

  async loadState({ model, dir, optimizer }: Parameters<Engine['loadState']>[0]): Promise<WeightsInfo> {
    this.mustLive();
    this.mustTrain(model);
    const { state_path, version, digest } = await readCheckpoint(dir);
    const isRenewed = !this.run.isFresh;
    if (isRenewed) {
      // Room for another one comes first: services may have it for one model.
      await this.unload(this.run);
      this.run = await this.createModel();
    }
    const answer = await this.run.call('load_weights', () => ({ path: state_path, optimizer }));
    this.run.hasGradients = false;
    const loaded = this.run.became(answer, version, digest);
    if (loaded.digest === digest) {
      if (isRenewed) await this.reopen(loaded);
      return loaded;
    }
    throw new TinkerError(
      'checkpoint',
      `${state_path} has the digest ${loaded.digest}, but ${dir} says ${digest}: the service's weights are others`,
    );
  }

  /** Weights that were saved by a model that is gone, again by the one that has them now: SkyRL samples from models that are there. */
  private async reopen(weights: WeightsInfo): Promise<void> {
    const names = this.sampled.namesOf(weights.digest);
    if (names.length === 0) return;
    const path = await this.saveForSampler('again');
    for (const name of names) await this.sampled.open(name, { path }, weights);
  }

  /** Where the weights of the policy, as they are, can be sampled from. */
  private async saveForSampler(name: string): Promise<string> {
    const word = name.replaceAll(/[^\w-]/g, '-').replace(/^[^A-Za-z0-9]/, 'w');
    const path = `${word}-${nameOfStep(this.run.weights.version)}`;
    return textOf(await this.run.save('save_weights_for_sampler', path), 'path');
  }

  async saveWeightsForSampler({
    model,
    name,
    dir,
  }: Parameters<Engine['saveWeightsForSampler']>[0]): Promise<WeightsInfo> {
    this.mustLive();
    if (model === BASE) return this.sampled.open(name, { base: true }, this.baseWeights);
    if (dir !== undefined) {
      const { sampler_path, version, digest } = await readCheckpoint(dir);
      // Of what was loaded from there, the model that has it now.
      const isCurrent = digest === this.run.weights.digest && !sampler_path.includes(this.run.id);
      const path = isCurrent ? await this.saveForSampler(name) : sampler_path;
      return this.sampled.open(name, { path }, { version, digest });
    }
    if (model !== POLICY) {
      const known = this.sampled.find(model);
      return this.sampled.open(name, known.source, known.weights);
    }
    const { weights } = this.run;
    const path = await this.saveForSampler(name);
    return this.sampled.open(name, { path }, weights);
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

  /** Tinker's API cannot: what nobody has stepped by ends the engine, and the run goes on from its newest checkpoint. */
  async discardGradients(model: ModelName): Promise<void> {
    this.mustTrain(model);
    if (!this.run.hasGradients) return;
    const error = new TinkerError(
      'worker',
      "gradients wait for a step that is not to come, and Tinker's API cannot forget them: the run has to go on from its newest checkpoint",
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
      models: [POLICY, BASE, ...this.sampled.names],
      maxSequence: this.context.maxSequence,
      service: this.connection.address,
      baseModel: this.service.baseModel,
      serviceModelId: this.run.id,
      weights: { [POLICY]: this.run.weights },
    };
  }

  async stop(): Promise<void> {
    if (this.gone === undefined) {
      // A service that does not answer ends the model itself, with the session.
      await this.unload(this.run, AbortSignal.timeout(5_000)).catch(() => undefined);
    }
    this.lose(new TinkerError('worker', 'the engine was stopped'));
  }

  private async unload({ id }: TrainedRun, patience?: AbortSignal): Promise<void> {
    await this.connection.result('unload_model', { model_id: id, type: 'unload_model' }, patience);
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

  /** The name of weights that can be sampled from: the newest of the policy are kept when they are asked for. */
  private async nameOf(model: ModelName): Promise<ModelName> {
    if (model === BASE) {
      if (!this.sampled.has(BASE)) await this.sampled.open(BASE, { base: true }, this.baseWeights);
      return BASE;
    }
    if (model !== POLICY) return model;
    const name = `${POLICY}#${this.run.weights.digest.slice(0, 16)}`;
    if (this.sampled.has(name)) return name;
    // Once for all who ask meanwhile.
    const saving = this.saving.get(name) ?? this.saveWeightsForSampler({ model: POLICY, name });
    this.saving.set(name, saving);
    await saving.finally(() => this.saving.delete(name));
    return name;
  }

  private mustTrain(model: ModelName): void {
    if (model === POLICY) return;
    throw new TinkerError('request', `no model "${model}" is trained; the one that is: ${POLICY}`);
  }

  private mustLive(): void {
    if (this.gone !== undefined) throw this.gone;
  }

  private lose(error: Error): void {
    if (this.gone !== undefined) return;
    this.gone = error instanceof TinkerError && error.category === 'worker' ? error : asLoss(error);
    this.session?.stop();
    this.end(this.gone);
  }
}

function asLoss(error: Error): TinkerError {
  return new TinkerError('worker', error.message, { cause: error });
}

function nameOfStep(version: number): string {
  return String(version).padStart(6, '0');
}
