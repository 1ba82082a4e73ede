import type { ModelName } from '@ui-rl/plugin-kit';
import { type Connection, ServiceFailure, unlessGone } from './connection';
import { TinkerError } from './errors';
import type { ModelRequest } from './options';
import { textOf } from './session';
import { TrainedRun } from './trained-run';

/** The models of a run that the service trains, each with its own sequence numbers. */
export class TrainedModels {
  private readonly runs = new Map<ModelName, TrainedRun>();
  private made = 0;

  constructor(
    private readonly connection: Connection,
    private readonly session: string,
    private readonly baseModel: string,
    private readonly requests: readonly ModelRequest[],
    private readonly onLost: (error: Error) => void,
  ) {}

  /** Creates them in order: services require the policy before the critic. */
  async create(): Promise<void> {
    for (const request of this.requests) this.runs.set(request.name, await this.make(request));
  }

  get all(): [ModelName, TrainedRun][] {
    return [...this.runs];
  }

  /** @throws TinkerError `request` */
  get(name: ModelName): TrainedRun {
    const found = this.runs.get(name);
    if (found !== undefined) return found;
    const known = [...this.runs.keys()].join(', ') || 'none';
    throw new TinkerError('request', `no model "${name}" is trained; those that are: ${known}`);
  }

  has(name: ModelName): boolean {
    return this.runs.has(name);
  }

  isCritic(name: ModelName): boolean {
    return this.requests.some((request) => request.name === name && request.role === 'critic');
  }

  /** Replaces a model by a fresh one. Unloads the old one first, since a service may have capacity for only one. */
  async renew(name: ModelName): Promise<TrainedRun> {
    await this.unload(this.get(name));
    const renewed = await this.make(this.requests.find((request) => request.name === name)!);
    this.runs.set(name, renewed);
    return renewed;
  }

  /** @param patience aborts when waiting must stop: the service unloads models itself when their session ends */
  async unloadAll(patience: AbortSignal): Promise<void> {
    for (const run of this.runs.values()) await this.unload(run, patience).catch(() => undefined);
  }

  private async make({ role, lora_config }: ModelRequest): Promise<TrainedRun> {
    const { connection, baseModel } = this;
    const body = {
      session_id: this.session,
      model_seq_id: this.made++,
      base_model: baseModel,
      lora_config,
      // Services without critics do not have this field.
      ...(role === 'critic' ? { model_role: role } : {}),
      type: 'create_model',
    };
    const created = await connection.result('create_model', body).catch((error: unknown) => {
      throw role === 'critic' ? asMissingCritic(error, connection.address) : error;
    });
    const run = new TrainedRun(connection, textOf(created, 'model_id'), role, this.onLost);
    run.became(created, 0);
    return run;
  }

  /**
   * Without a sequence number: if the answer is lost, the request is repeated although the service may have executed
   * it.
   */
  private unload({ id }: TrainedRun, patience?: AbortSignal): Promise<void> {
    const body = { model_id: id, type: 'unload_model' };
    return unlessGone(this.connection.result('unload_model', body, patience));
  }
}

/** Explains the error of a service without critics in terms of the run; returns other errors unchanged. */
function asMissingCritic(error: unknown, address: string): unknown {
  const isRefusal =
    error instanceof TinkerError && !(error instanceof ServiceFailure && error.category === 'worker');
  if (!isRefusal) return error;
  return new TinkerError(
    'request',
    `this run trains a critic beside its policy (algorithm.advantage gae), and ${address} makes none: ${error.message}`,
    { cause: error },
  );
}
