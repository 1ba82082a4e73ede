import { Logger } from '@nestjs/common';
import { ApiError } from '@ui-rl/openai-api';
import type { ServedModel, ServingLimits } from '../served-model';
import { Archives } from './archives';
import { fieldsOf } from './bodies';
import { CheckpointStore } from './checkpoints';
import type { Context } from './context';
import { Futures, type Answer, type Failure } from './futures';
import { RequestImages } from './images';
import { Listing } from './listing';
import { Samplers } from './samplers';
import { SamplingVerbs } from './sampling';
import { Sessions, type Session } from './sessions';
import { TrainingVerbs } from './training';
import { WeightsVerbs } from './weights';

/** Maximum number of clients. */
const MAX_SESSIONS = 1024;

/** Extensions of Tinker's API: see the guide. */
export const EXTENSIONS = ['weights', 'digests', 'untrained_logprobs', 'critic'] as const;

type Verb = (body: unknown) => object | Promise<object>;

/** Tinker's operations over an engine. */
export class TinkerService {
  readonly listing: Listing;
  readonly sampling: SamplingVerbs;
  private readonly logger = new Logger('tinker');
  private readonly context: Context;
  private readonly verbs: Readonly<Record<string, Verb>>;
  private readonly sweeper: NodeJS.Timeout;

  /** @param images with which the engine was started */
  constructor(
    private readonly model: ServedModel,
    dir: string,
    images: RequestImages,
    private readonly limits: ServingLimits,
  ) {
    const store = new CheckpointStore(dir);
    const { engine, tokenizer, family, maxSequence } = model;
    const range = { vocabSize: tokenizer.vocabSize, imageTokenId: family.shape.imageTokenId, maxSequence };
    this.context = {
      model,
      limits,
      range,
      store,
      images,
      sessions: new Sessions(MAX_SESSIONS),
      futures: new Futures(limits.maxRequests),
      samplers: new Samplers(engine, store, limits.maxSamplers),
      archives: new Archives(),
    };
    const training = new TrainingVerbs(this.context);
    const weights = new WeightsVerbs(this.context, training);
    this.sampling = new SamplingVerbs(this.context);
    this.listing = new Listing(this.context);
    const counted =
      (verb: (body: unknown) => object): Verb =>
      (body) =>
        training.counted(body, verb);
    this.verbs = {
      create_session: (body) => this.createSession(body),
      session_heartbeat: (body) => this.heartbeat(body),
      create_model: (body) => training.createModel(body),
      unload_model: (body) => training.unloadModel(body),
      get_info: (body) => training.getInfo(body),
      forward_backward: counted((body) => training.forwardBackward(body)),
      forward: counted((body) => training.forwardBackward(body, true)),
      optim_step: counted((body) => training.optimStep(body)),
      save_weights: counted((body) => weights.saveWeights(body)),
      load_weights: counted((body) => weights.loadWeights(body)),
      save_weights_for_sampler: counted((body) => weights.saveWeightsForSampler(body)),
      create_sampling_session: (body) => this.sampling.createSamplingSession(body),
      asample: (body) => this.sampling.asample(body),
      weights_info: (body) => this.listing.weightsInfo(body),
      // Requests of the official client for its configuration, and its telemetry, which is discarded.
      'client/config': () => ({ pjwt_auth_enabled: false, proto_compress_fwdbwd: false }),
      'client/dynamic_config': () => ({ refresh_interval_sec: 300 }),
      telemetry: () => ({ status: 'accepted' }),
    };
    this.sweeper = setInterval(() => void this.sweep(), Math.min(10_000, limits.sessionTimeoutMs));
    this.sweeper.unref();
  }

  /** Number of requests in progress. */
  get active(): number {
    return this.context.futures.active;
  }

  /** @throws ApiError 404 for an unknown operation */
  async call(verb: string, body: unknown): Promise<object> {
    if (Object.hasOwn(this.verbs, verb)) return this.verbs[verb](body);
    const known = Object.keys(this.verbs).join(', ');
    throw new ApiError(
      404,
      `there is no verb "${verb.slice(0, 100)}" here; known are ${known}`,
      'unknown_verb',
    );
  }

  capabilities(): object {
    const { name, maxSequence, deterministic } = this.model;
    return {
      supported_models: [{ model_name: name, max_context_length: maxSequence }],
      extensions: [...EXTENSIONS, ...(deterministic ? ['deterministic'] : [])],
    };
  }

  /** The answer or the failure of a request; undefined if the client has to ask again. */
  retrieve(body: unknown): Promise<Answer | Failure | undefined> {
    const fields = fieldsOf(body);
    const id = fields.requiredText('request_id');
    fields.note('allow_metadata_only', 'model_id');
    fields.end();
    const { futures, sessions } = this.context;
    const owner = futures.ownerOf(id);
    // A client that waits for an answer is alive, even without heartbeats; it asks again in time, however long the
    // answer takes.
    if (owner !== undefined) sessions.heard(owner);
    const { pollMs, sessionTimeoutMs } = this.limits;
    return futures.wait(id, Math.min(pollMs, sessionTimeoutMs / 2));
  }

  /** Ends inactive sessions, and deletes expired checkpoints. */
  async sweep(now = Date.now()): Promise<void> {
    const { sessions, store } = this.context;
    try {
      for (const session of sessions.takeSilent(this.limits.sessionTimeoutMs, now)) {
        this.logger.log(`session ${session.id} has ended: nothing was heard of it`);
        await this.end(session);
      }
      await store.sweep(now);
    } catch (error) {
      this.logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }

  /** Newer clients announce their end, so that their models and answers can be released immediately. */
  async finish(id: string, body: unknown): Promise<void> {
    const fields = fieldsOf(body);
    fields.note('reason', 'detail');
    fields.end();
    await this.end(this.context.sessions.take(id));
  }

  private async end({ id, models, sampling }: Session): Promise<void> {
    const { futures, samplers } = this.context;
    for (const run of models.values()) await run.unload(this.model.engine);
    for (const { source } of sampling.values()) {
      if (source.kind === 'held') await samplers.release(source.name);
    }
    futures.forget(id);
  }

  close(): void {
    clearInterval(this.sweeper);
  }

  private createSession(body: unknown): object {
    const fields = fieldsOf(body);
    fields.note('tags', 'user_metadata', 'sdk_version', 'project_id', 'display_name');
    fields.end();
    return {
      type: 'create_session',
      session_id: this.context.sessions.begin().id,
      info_message: `adapters over ${this.model.name} have no part in the output layer: train_unembed is without effect here`,
    };
  }

  private heartbeat(body: unknown): object {
    const fields = fieldsOf(body);
    this.context.sessions.get(fields.requiredText('session_id'));
    fields.end();
    return { type: 'session_heartbeat' };
  }
}
