import { createHash } from 'node:crypto';
import { isRecord, type LossModel, type WeightsInfo } from '@ui-rl/plugin-kit';
import { ServiceFailure, type Connection, type Json } from './connection';
import { TinkerError } from './errors';

const MOST_NAMES = 10;

/** A model in training: requests carry sequence numbers and are sent in order, so that none is executed twice. */
export class TrainedRun {
  private next = 1;
  private sent: Promise<unknown> = Promise.resolve();
  private newest: WeightsInfo = { version: 0, digest: '' };
  private readonly named = new Set<string>();
  /** Whether there are gradients without an optimizer step. */
  hasGradients = false;
  /** Whether it has received no requests yet: weights can be loaded only into such a model. */
  isFresh = true;

  constructor(
    private readonly connection: Connection,
    readonly id: string,
    readonly role: LossModel,
    private readonly onLost: (error: Error) => void,
  ) {
    this.newest = { version: 0, digest: this.digestAt(0) };
  }

  get weights(): WeightsInfo {
    return this.newest;
  }

  /**
   * Sends a request after the previous ones, and waits for its result.
   * @param prepare returns the body without model and sequence number
   */
  async call(verb: string, prepare: () => Promise<object> | object): Promise<Json> {
    this.isFresh = false;
    const begun = this.sent.then(async () => {
      const body = await prepare();
      const answer = await this.connection.post(verb, { model_id: this.id, seq_id: this.next, ...body });
      // Incremented after the service accepted the request: a rejected one uses no number.
      this.next += 1;
      return answer;
    });
    this.sent = begun.catch(() => undefined);
    try {
      return await this.connection.retrieve(verb, await begun);
    } catch (error) {
      if (isLoss(error)) this.onLost(error);
      throw error;
    }
  }

  /** The name, or a variant of it that was not used before, so that a pending delete never hits a later save. */
  unused(name: string): string {
    let found = name;
    for (let count = 2; this.named.has(found); count += 1) found = `${name}-${count}`;
    this.named.add(found);
    return found;
  }

  /**
   * Saves weights under a name, or under a variant if the service already has it: services without sequence numbers
   * execute a repeated request twice.
   */
  async save(
    verb: 'save_weights' | 'save_weights_for_sampler',
    path: string,
    body: object = {},
  ): Promise<Json> {
    for (let names = 1; ; names += 1) {
      try {
        return await this.call(verb, () => ({ path: names === 1 ? path : `${path}-${names}`, ...body }));
      } catch (error) {
        const isTaken = error instanceof ServiceFailure && error.status === 409;
        if (!isTaken || names >= MOST_NAMES) throw error;
      }
    }
  }

  /** The weights after a number of steps, named by the service, or locally if it does not name them. */
  became(answer: Json, version: number, digest?: string): WeightsInfo {
    const { weights } = answer;
    const isTold =
      isRecord(weights) && typeof weights.version === 'number' && typeof weights.digest === 'string';
    this.newest = isTold
      ? { version: weights.version as number, digest: weights.digest as string }
      : { version, digest: digest ?? this.digestAt(version) };
    return this.newest;
  }

  private digestAt(version: number): string {
    return digestOf(`${this.connection.address} ${this.id} ${version}`);
  }
}

/** A digest for weights whose bytes are not available. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Whether a service reports that a model no longer exists: after a restart, SkyRL keeps only its session. */
export function isModelGone(error: unknown): error is Error {
  return error instanceof TinkerError && /\bmodel\b.{0,200}\bnot (loaded|found)\b/i.test(error.message);
}

/** Whether it is unknown if the service executed the request. */
function isLoss(error: unknown): error is Error {
  if (isModelGone(error)) return true;
  return error instanceof TinkerError && error.category === 'worker';
}
