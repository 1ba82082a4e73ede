import type { Log } from '@ui-rl/plugin-kit';
import type { Connection, Json } from './connection';
import { ServiceFailure } from './connection';
import { TinkerError } from './errors';

const HEARTBEAT_MS = 10_000;

/** Capabilities beyond Tinker's API that a service such as `ui-rl serve tinker` reports. */
export interface Service {
  /** The service's name of the model. */
  baseModel: string;
  /** Maximum sequence length of the model; undefined if the service does not report it. */
  maxSequence: number | undefined;
  extensions: ReadonlySet<string>;
}

/**
 * Finds a model among those the service currently offers; services add and retire models.
 * @param named by the run file for the service
 * @param ownName name of the run's model, used if the service offers it and no other is named
 * @throws TinkerError `request` if the service does not offer the model
 */
export async function findModel(
  connection: Connection,
  named: string | undefined,
  ownName?: string,
): Promise<Service> {
  const { supported_models: models, extensions } = await connection.get('get_server_capabilities');
  const offered = (Array.isArray(models) ? models : []) as {
    model_name?: string;
    max_context_length?: number;
  }[];
  const names = offered.map(({ model_name = '' }) => model_name);
  const [published] = ownName?.split('@') ?? [];
  const asked = named ?? names.find((name) => name === published);
  if (asked === undefined && names.length !== 1) {
    const own = published === undefined ? '' : `, not ${published}`;
    throw new TinkerError(
      'request',
      `engine tinker: base_model has to name a model of ${connection.address}; it offers ${names.join(', ')}${own}`,
    );
  }
  const found = offered.find(({ model_name }) => asked === undefined || model_name === asked);
  if (found?.model_name === undefined) {
    throw new TinkerError(
      'request',
      `engine tinker: base_model: ${connection.address} does not offer ${asked}, or has retired it; it offers ${names.join(', ')}. ` +
        'Take one of these, and for model.name or teacher.name one with the same tokenizer and chat template',
    );
  }
  return {
    baseModel: found.model_name,
    maxSequence: found.max_context_length ?? undefined,
    extensions: new Set(Array.isArray(extensions) ? (extensions as string[]) : []),
  };
}

/** A session with heartbeats until it is stopped. */
export class ServiceSession {
  private readonly timer: NodeJS.Timeout;
  private readonly stopped = new AbortController();
  private isBeating = false;

  private constructor(
    readonly id: string,
    private readonly connection: Connection,
    private readonly onLost: (error: Error) => void,
    private readonly log: Log,
  ) {
    this.timer = setInterval(() => void this.beat(), HEARTBEAT_MS);
    this.timer.unref();
  }

  static async begin(
    connection: Connection,
    log: Log,
    onLost: (error: Error) => void,
  ): Promise<ServiceSession> {
    const begun = await connection.post('create_session', {
      tags: ['ui-rl'],
      user_metadata: {},
      sdk_version: '0.25.0',
      type: 'create_session',
    });
    for (const [level, name] of [
      ['info', 'info_message'],
      ['warn', 'warning_message'],
      ['error', 'error_message'],
    ] as const) {
      if (typeof begun[name] === 'string') log(level, `${connection.address} says: ${begun[name]}`);
    }
    return new ServiceSession(textOf(begun, 'session_id'), connection, onLost, log);
  }

  stop(): void {
    clearInterval(this.timer);
    this.stopped.abort();
  }

  /** One heartbeat at a time: while the service is unreachable, the current one is retried. */
  private async beat(): Promise<void> {
    if (this.isBeating) return;
    this.isBeating = true;
    const { signal } = this.stopped;
    const body = { session_id: this.id, type: 'session_heartbeat' };
    try {
      await this.connection.post('session_heartbeat', body, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ServiceFailure && error.status === 404) this.onLost(error);
      else this.log('warn', `heartbeat: ${(error as Error).message}`);
    } finally {
      this.isBeating = false;
    }
  }
}

/** @throws TinkerError `worker` if the answer lacks the field */
export function textOf(answer: Json, name: string): string {
  const value = answer[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new TinkerError(
    'worker',
    `the service answered without ${name}: ${JSON.stringify(answer).slice(0, 300)}`,
  );
}
