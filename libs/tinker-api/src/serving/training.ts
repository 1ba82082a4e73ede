import { randomInt, randomUUID } from 'node:crypto';
import { ApiError, Fields, invalid } from '@ui-rl/openai-api';
import type { LossModel, WeightsInfo } from '@ui-rl/plugin-kit';
import { readTrainingJson, seqIdOf } from '../wire/json';
import { readTrainingRequest } from '../wire/protobuf';
import { requestNumberOf } from '../wire/request-number';
import { digestOf } from '../wire/training-request';
import { adamwAlone, answer, bodyDigest, fieldsOf, pending } from './bodies';
import type { RunRecord } from './checkpoints';
import type { Context } from './context';
import type { Answer } from './futures';
import { loraOptions, readLora } from './lora';
import { ModelRun } from './model-run';
import { Passes } from './passes';
import type { Session } from './sessions';

const MAX_SEED = 2 ** 31 - 1;
const ROLES: readonly LossModel[] = ['policy', 'critic'];

type NewRun = RunRecord & { role: LossModel };

/** Operations that create, train and unload models. */
export class TrainingVerbs {
  private readonly passes: Passes;

  constructor(private readonly context: Context) {
    this.passes = new Passes(context);
  }

  createModel(body: unknown): object {
    const { sessions, futures, model } = this.context;
    const fields = fieldsOf(body);
    const session = sessions.get(fields.requiredText('session_id'));
    const seq = fields.number('model_seq_id', { min: 0, integer: true });
    const digest = bodyDigest('create_model', body);
    const known = seq === undefined ? undefined : session.creations.find(seq, digest);
    if (known !== undefined) return pending(known, session.created.get(known));
    mustServe(model.name, fields.requiredText('base_model'), 'base_model');
    const role = roleOf(fields);
    const metadata = fields.raw('user_metadata');
    adamwAlone(fields);
    const config = fields.raw('lora_config');
    if (config === undefined) throw fields.missing('lora_config');
    const { seed, ...lora } = readLora(Fields.of(config, 'lora_config'));
    fields.end();
    this.mustHaveRoom();
    const id = randomUUID();
    const record = this.recordOf({ lora, role }, metadata);
    // Started before this returns, or not at all if too many requests are in progress.
    const requestId = futures.begin(session.id, async () => {
      const { weights } = await this.addModel(session, id, record, seed);
      return answer({ model_id: id, type: 'create_model', weights });
    });
    session.created.set(requestId, id);
    if (seq !== undefined) session.creations.keep(seq, digest, requestId);
    return pending(requestId, id);
  }

  /** @throws ApiError if the maximum number of models is being trained */
  mustHaveRoom(): void {
    const { sessions, limits } = this.context;
    if (sessions.models().length < limits.maxModels) return;
    throw new ApiError(
      400,
      `${limits.maxModels} models are trained here, no more at a time: unload one, or start the server with more (--max-models)`,
      'too_many_models',
    );
  }

  recordOf({ lora, role }: Pick<NewRun, 'lora' | 'role'>, metadata: unknown): NewRun {
    return {
      baseModel: this.context.model.name,
      lora,
      role,
      createdAt: new Date().toISOString(),
      ...(typeof metadata === 'object' && metadata !== null ? { userMetadata: metadata } : {}),
    };
  }

  /** The model belongs to its session before this returns. */
  async addModel(
    session: Session,
    id: string,
    record: NewRun,
    seed = randomInt(MAX_SEED),
  ): Promise<{ run: ModelRun; weights: WeightsInfo }> {
    const { limits, model } = this.context;
    const trainable = { mode: 'lora' as const, lora: loraOptions(record.lora) };
    const created = model.engine.addModel!({ name: id, role: record.role, trainable, seed });
    const run = new ModelRun(id, session.id, record, created, limits.gapMs);
    session.models.set(id, run);
    try {
      return { run, weights: await created };
    } catch (error) {
      session.models.delete(id);
      throw error;
    }
  }

  unloadModel(body: unknown): object {
    const { sessions, futures, model } = this.context;
    const fields = fieldsOf(body);
    const run = sessions.model(fields.requiredText('model_id'));
    fields.end();
    const { models } = sessions.get(run.session);
    const requestId = futures.begin(run.session, async () => {
      await run.unload(model.engine);
      models.delete(run.id);
      return answer({ model_id: run.id, type: 'unload_model' });
    });
    return pending(requestId, run.id);
  }

  getInfo(body: unknown): object {
    const fields = fieldsOf(body);
    const run = this.context.sessions.model(fields.requiredText('model_id'));
    fields.end();
    const { name, tokenizerId } = this.context.model;
    return {
      type: 'get_info',
      model_id: run.id,
      model_name: name,
      is_lora: true,
      lora_rank: run.record.lora.rank,
      model_role: run.role,
      status: 'created',
      model_data: { arch: null, model_name: name, base_model: name, tokenizer_id: tokenizerId },
    };
  }

  /** From JSON, or from protobuf as the official client sends it. */
  forwardBackward(body: unknown, forwardOnly = false): object {
    const request = Buffer.isBuffer(body) ? readTrainingRequest(body) : readTrainingJson(body, forwardOnly);
    const { role } = this.context.sessions.model(request.modelId);
    const loss = this.passes.choose(request, role);
    if (request.data.length === 0) throw invalid('data', 'is empty');
    return this.numbered(request.modelId, request.seqId, digestOf(request), (run) =>
      this.passes.run(run, request, loss),
    );
  }

  optimStep(body: unknown): object {
    const fields = fieldsOf(body);
    const modelId = fields.requiredText('model_id');
    const { seqId } = seqIdOf(fields);
    const { learningRate, maxGradNorm, optimizer } = readAdam(
      Fields.of(fields.raw('adam_params') ?? {}, 'adam_params'),
    );
    fields.end();
    return this.numbered(modelId, seqId, bodyDigest('optim_step', body), async ({ id }) => {
      const { engine } = this.context.model;
      const { metrics, weights } = await engine
        .optimStep({ model: id, optimizer, learningRate, maxGradNorm })
        .catch(async (error: unknown) => {
          // Otherwise the next step would include them.
          await engine.discardGradients(id).catch(() => undefined);
          throw error;
        });
      return answer({ type: 'optim_step', metrics, weights });
    });
  }

  /**
   * Answers a numbered request of a model. A rejected one does not use up its number: the next request does not wait
   * for it, and a corrected one may reuse the number. A request that the client will retry unchanged is waited for.
   */
  counted(body: unknown, verb: (body: unknown) => object): object {
    try {
      return verb(body);
    } catch (error) {
      const number = isRefusal(error) ? requestNumberOf(body) : undefined;
      if (number !== undefined) this.context.sessions.findModel(number.modelId)?.turns.pass(number.seqId);
      throw error;
    }
  }

  /**
   * Starts a client's numbered request in order; a request that was already started under the number is not started
   * again.
   * @param check throws if it may not be started
   */
  numbered(
    modelId: string,
    seqId: number | undefined,
    digest: string,
    work: (run: ModelRun) => Promise<Answer>,
    check: (run: ModelRun) => void = () => undefined,
  ): object {
    const { sessions, futures } = this.context;
    const run = sessions.model(modelId);
    const known = seqId === undefined ? undefined : run.numbers.find(seqId, digest);
    if (known !== undefined) return pending(known, run.id);
    if (seqId !== undefined && !run.turns.isOpen(seqId)) {
      throw invalid('seq_id', `is ${seqId}, which has passed; requests of a model count from 1 on`);
    }
    check(run);
    const requestId = futures.begin(run.session, () => run.run(seqId, () => work(run)));
    if (seqId !== undefined) run.numbers.keep(seqId, digest, requestId);
    return pending(requestId, run.id);
  }
}

/** @throws ApiError for an unknown role */
function roleOf(fields: Fields): LossModel {
  const asked = fields.text('model_role') ?? 'policy';
  const role = ROLES.find((each) => each === asked);
  if (role !== undefined) return role;
  throw invalid('model_role', `is "${asked.slice(0, 100)}"; expected ${ROLES.join(' or ')}`);
}

/** Errors that a client has to correct; it retries 408, 409 and 429 unchanged. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && ![408, 409, 429].includes(error.status);
}

/** @throws ApiError if another model is requested than the served one */
export function mustServe(served: string, asked: string, param: string): void {
  if (asked === served) return;
  throw invalid(param, `"${asked.slice(0, 200)}" is not served here; "${served}" is`, 'model_not_found');
}

function readAdam(fields: Fields): {
  learningRate: number;
  maxGradNorm: number;
  optimizer: { name: string; [option: string]: unknown };
} {
  const share = (name: string, usual: number): number =>
    fields.number(name, { min: 0, max: 1 - 1e-12 }) ?? usual;
  const positive = (name: string, usual: number): number => fields.number(name, { min: 0 }) ?? usual;
  const read = {
    learningRate: positive('learning_rate', 1e-4),
    maxGradNorm: positive('grad_clip_norm', 0),
    optimizer: {
      name: 'adamw',
      beta1: share('beta1', 0.9),
      beta2: share('beta2', 0.95),
      epsilon: fields.number('eps', { min: Number.MIN_VALUE }) ?? 1e-12,
      weight_decay: positive('weight_decay', 0),
    },
  };
  fields.end();
  return read;
}
