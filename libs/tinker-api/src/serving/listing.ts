import { ApiError, Fields, invalid } from '@ui-rl/openai-api';
import type { Readable } from 'node:stream';
import { archiveOf } from './archives';
import { fieldsOf } from './bodies';
import {
  addressText,
  parseAddress,
  roleIn,
  runNamed,
  type Checkpoint,
  type CheckpointKind,
  type RunRecord,
} from './checkpoints';
import type { Context } from './context';

/** Lists runs and their checkpoints. */
export class Listing {
  constructor(private readonly context: Context) {}

  async trainingRuns(query: Readonly<Record<string, unknown>>): Promise<object> {
    const fields = Fields.of(query);
    const whole = (name: string, usual: number): number => {
      const value = Number(fields.raw(name) ?? usual);
      if (Number.isInteger(value) && value >= 0) return value;
      throw invalid(name, 'expected a whole number');
    };
    const [offset, limit] = [whole('offset', 0), whole('limit', 100)];
    const live = this.context.sessions.models().map(({ id }) => id);
    const all = [...new Set([...live, ...(await this.context.store.runs())])];
    const shown = all.slice(offset, offset + limit);
    return {
      training_runs: await Promise.all(shown.map((run) => this.trainingRun(run))),
      cursor: { offset, limit, total_count: all.length },
    };
  }

  async trainingRun(id: string): Promise<object> {
    const { record, lastRequestAt } = await this.recordOf(id);
    const checkpoints = await this.context.store.list(id);
    const newest = (kind: CheckpointKind): object | null => {
      const found = checkpoints
        .filter(({ address }) => address.kind === kind)
        .toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))
        .at(-1);
      return found === undefined ? null : checkpointJson(found);
    };
    return {
      training_run_id: id,
      base_model: record.baseModel,
      model_owner: 'local',
      is_lora: true,
      lora_rank: record.lora.rank,
      model_role: roleIn(record),
      corrupted: false,
      last_request_time: new Date(lastRequestAt).toISOString(),
      last_checkpoint: newest('weights'),
      last_sampler_checkpoint: newest('sampler_weights'),
      user_metadata: record.userMetadata ?? null,
    };
  }

  async checkpoints(run: string): Promise<object> {
    await this.recordOf(run);
    return { checkpoints: (await this.context.store.list(run)).map(checkpointJson), cursor: null };
  }

  /** @param kind disambiguates a bare name */
  async deleteCheckpoint(run: string, kind: string, name: string): Promise<void> {
    const address = parseAddress(`tinker://${run}/${kind}/${name}`, 'checkpoint');
    const { store, samplers, sessions } = this.context;
    await store.open(address);
    const text = addressText(address);
    sessions.endSampling(text);
    await samplers.release(text);
    await store.delete(address);
  }

  /** A secret, temporary address of a checkpoint's archive. */
  async offerArchive(run: string, kind: string, name: string): Promise<{ token: string; expiresAt: number }> {
    const address = parseAddress(`tinker://${run}/${kind}/${name}`, 'checkpoint');
    await this.context.store.open(address);
    return this.context.archives.offer(address);
  }

  /** The archive behind a secret address, and its file name. */
  async archive(token: string): Promise<{ content: Readable; name: string }> {
    const address = this.context.archives.find(token);
    const { dir } = await this.context.store.open(address);
    return { content: archiveOf(dir), name: `${address.run.replaceAll(':', '-')}_${address.name}.tar.gz` };
  }

  async weightsInfo(body: unknown): Promise<object> {
    const fields = fieldsOf(body);
    const address = parseAddress(fields.requiredText('tinker_path'), 'tinker_path');
    fields.end();
    const { run } = await this.context.store.open(address);
    return {
      base_model: run.baseModel,
      is_lora: true,
      lora_rank: run.lora.rank,
      model_role: roleIn(run),
      train_mlp: run.lora.trainMlp,
      train_attn: run.lora.trainAttn,
    };
  }

  private async recordOf(run: string): Promise<{ record: RunRecord; lastRequestAt: number }> {
    const live = this.context.sessions.models().find(({ id }) => id === run);
    if (live !== undefined) return live;
    const record = await this.context.store.run(runNamed(run, 'run'));
    if (record !== undefined) return { record, lastRequestAt: Date.parse(record.createdAt) };
    throw new ApiError(404, `there is no training run "${run}" here`, 'run_not_found');
  }
}

function checkpointJson({ address, createdAt, expiresAt }: Checkpoint): object {
  return {
    checkpoint_id: `${address.kind}/${address.name}`,
    checkpoint_type: address.kind === 'weights' ? 'training' : 'sampler',
    time: createdAt,
    tinker_path: addressText(address),
    public: false,
    expires_at: expiresAt ?? null,
  };
}
