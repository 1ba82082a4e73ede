import { randomUUID } from 'node:crypto';
import { ApiError, invalid, type Fields } from '@ui-rl/openai-api';
import { rm } from 'node:fs/promises';
import { seqIdOf } from '../wire/json';
import { adamwAlone, answer, bodyDigest, fieldsOf, pending } from './bodies';
import type { LossModel } from '@ui-rl/plugin-kit';
import {
  addressText,
  checkpointNamed,
  mustSample,
  parseAddress,
  roleIn,
  type CheckpointAddress,
} from './checkpoints';
import type { Context } from './context';
import type { Answer } from './futures';
import type { ModelRun } from './model-run';
import { mustServe, type TrainingVerbs } from './training';

/** Operations that save and load weights. */
export class WeightsVerbs {
  constructor(
    private readonly context: Context,
    private readonly training: TrainingVerbs,
  ) {}

  saveWeights(body: unknown): object {
    const fields = fieldsOf(body);
    const modelId = fields.requiredText('model_id');
    const { seqId } = seqIdOf(fields);
    const path = fields.text('path');
    const ttl = ttlOf(fields);
    const overwrite = fields.boolean('overwrite') ?? false;
    fields.note('user_metadata');
    fields.end();
    const name = checkpointNamed(path ?? `seq-${seqId ?? randomUUID()}`, 'path');
    return this.training.numbered(modelId, seqId, bodyDigest('save_weights', body), async (run) => {
      const { store, model } = this.context;
      const address: CheckpointAddress = { run: run.id, kind: 'weights', name };
      if (!overwrite && (await store.has(address))) {
        throw new ApiError(
          400,
          `${addressText(address)} is there already; overwrite: true replaces it`,
          'checkpoint_exists',
        );
      }
      await this.context.samplers.release(addressText(address));
      const dir = store.folderOf(address);
      const weights = await model.engine.saveState({ model: run.id, dir });
      await this.complete(run, address, ttl);
      return answer({ type: 'save_weights', path: addressText(address), weights });
    });
  }

  loadWeights(body: unknown): object {
    const fields = fieldsOf(body);
    const digest = bodyDigest('load_weights', body);
    const session = fields.text('session_id');
    if (session !== undefined) return this.createFrom(session, fields, digest);
    const modelId = fields.requiredText('model_id');
    const { seqId } = seqIdOf(fields);
    const wanted = readLoad(fields);
    for (const name of ['base_model', 'model_seq_id', 'user_metadata']) fields.only(name);
    fields.end();
    const load = (run: ModelRun): Promise<Answer> => this.load(run, wanted);
    return this.training.numbered(modelId, seqId, digest, load, (run) => mustBeFirst(run, seqId));
  }

  /** Creates a model with these weights, as newer clients request it: they know its id in advance. */
  private createFrom(sessionId: string, fields: Fields, digest: string): object {
    const { sessions, futures, store, model } = this.context;
    const session = sessions.get(sessionId);
    const seq = fields.number('model_seq_id', { min: 0, integer: true });
    if (seq === undefined) throw fields.missing('model_seq_id');
    const known = session.creations.find(seq, digest);
    if (known !== undefined) return pending(known, session.created.get(known));
    const wanted = readLoad(fields);
    const base = fields.text('base_model');
    if (base !== undefined) mustServe(model.name, base, 'base_model');
    const metadata = fields.raw('user_metadata');
    for (const name of ['model_id', 'seq_id']) fields.only(name);
    fields.end();
    this.training.mustHaveRoom();
    const id = `${session.id}:train:${seq}`;
    const requestId = futures.begin(session.id, async () => {
      const { run: saved } = await store.open(wanted.address);
      // Meanwhile other models may have been created, and the client may have left.
      this.training.mustHaveRoom();
      const record = this.training.recordOf({ lora: saved.lora, role: roleIn(saved) }, metadata);
      const { run } = await this.training.addModel(sessions.get(session.id), id, record);
      try {
        return await run.run(undefined, () => this.load(run, wanted));
      } catch (error) {
        await run.unload(model.engine);
        session.models.delete(id);
        throw error;
      }
    });
    session.created.set(requestId, id);
    session.creations.keep(seq, digest, requestId);
    return pending(requestId, id);
  }

  private async load(run: ModelRun, { address, optimizer }: Load): Promise<Answer> {
    const { dir, run: saved } = await this.context.store.open(address);
    mustHaveRole(run, roleIn(saved), address);
    const weights = await this.context.model.engine.loadState({ model: run.id, dir, optimizer });
    return answer({ type: 'load_weights', path: addressText(address), model_id: run.id, weights });
  }

  /** Under a path, or in memory for one sampling session. */
  saveWeightsForSampler(body: unknown): object {
    const fields = fieldsOf(body);
    const modelId = fields.requiredText('model_id');
    const { seqId } = seqIdOf(fields);
    const path = fields.text('path');
    const samplingSeq = fields.number('sampling_session_seq_id', { min: 0, integer: true });
    const ttl = ttlOf(fields);
    // Sampling from weights that change is not supported.
    fields.only('kind', 'snapshot');
    fields.note('user_metadata');
    fields.end();
    const name = path === undefined ? undefined : checkpointNamed(path, 'path');
    if (name === undefined && samplingSeq === undefined) {
      throw invalid(
        'path',
        'is missing; name the weights, or the sampling session they are for (sampling_session_seq_id)',
      );
    }
    const { id, role } = this.context.sessions.model(modelId);
    mustSample(role, 'model_id', id);
    const digest = bodyDigest('save_weights_for_sampler', body);
    return this.training.numbered(modelId, seqId, digest, (run) =>
      name === undefined ? this.hold(run) : this.save(run, name, ttl),
    );
  }

  private async hold(run: ModelRun): Promise<Answer> {
    const { samplers, sessions } = this.context;
    const id = randomUUID();
    await samplers.keep(run.id, id);
    const session = sessions.get(run.session);
    const source = { kind: 'held' as const, name: id };
    await samplers.endOf(session.addSampling(id, source));
    return answer({ type: 'save_weights_for_sampler', sampling_session_id: id });
  }

  private async save(run: ModelRun, name: string, ttl: number | undefined): Promise<Answer> {
    const { samplers, store, model } = this.context;
    const address: CheckpointAddress = { run: run.id, kind: 'sampler_weights', name };
    const text = addressText(address);
    const dir = store.folderOf(address);
    await samplers.release(text);
    await store.delete(address);
    await samplers.keep(run.id, text);
    const { version, digest } = await model.engine.exportWeights({ name: text, dir });
    await this.complete(run, address, ttl);
    return answer({ type: 'save_weights_for_sampler', path: text, weights: { version, digest } });
  }

  private async complete(run: ModelRun, address: CheckpointAddress, ttl: number | undefined): Promise<void> {
    const { store } = this.context;
    try {
      await store.keepRun(run.id, run.record);
      await store.complete(address, ttl);
    } catch (error) {
      await rm(store.folderOf(address), { recursive: true, force: true }).catch(() => undefined);
      throw error;
    }
  }
}

interface Load {
  address: CheckpointAddress;
  /** Whether to load the optimizer state, too. */
  optimizer: boolean;
}

function readLoad(fields: Fields): Load {
  const address = parseAddress(fields.requiredText('path'), 'path');
  const optimizer = fields.boolean('optimizer') ?? false;
  fields.only('weights_access_token');
  adamwAlone(fields);
  if (!optimizer || address.kind === 'weights') return { address, optimizer };
  throw invalid(
    'path',
    'holds weights to sample from, without the state of an optimizer; optimizer has to be false',
  );
}

/** A critic has a head, which a policy lacks. */
function mustHaveRole({ id, role }: ModelRun, saved: LossModel, address: CheckpointAddress): void {
  if (saved === role) return;
  throw invalid('path', `${addressText(address)} holds a ${saved}, but ${id} is a ${role}`);
}

/** As in Tinker: results of earlier requests to the model would be lost silently. */
function mustBeFirst({ requests, turns }: ModelRun, seqId: number | undefined): void {
  if (requests === 0 && turns.isNext(seqId ?? 1)) return;
  throw new ApiError(
    400,
    `LoadWeights is not permitted with seq_id ${seqId ?? requests + 1}: weights are loaded by the first request of a model; create another one`,
    'load_not_first',
    'seq_id',
  );
}

function ttlOf(fields: Fields): number | undefined {
  return fields.number('ttl_seconds', { min: 1, integer: true });
}
