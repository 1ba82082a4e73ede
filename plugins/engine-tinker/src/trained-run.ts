import { createHash } from 'node:crypto';
import { isRecord, type LossModel, type WeightsInfo } from '@ui-rl/plugin-kit';
import { ServiceFailure, type Connection, type Json } from './connection';
import { TinkerError } from './errors';

const MOST_NAMES = 10;

/** A model that is trained: its requests are numbered, sent one after the other, and so are never done twice. */
export class TrainedRun {
  private next = 1;
  private sent: Promise<unknown> = Promise.resolve();
  private newest: WeightsInfo = { version: 0, digest: '' };
  private readonly named = new Set<string>();
  /** Whether gradients wait for a step. */
  hasGradients = false;
  /** Whether nothing was asked of it yet: weights are loaded into such a model only. */
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
   * Sends a request when those before it are sent, and waits for what comes of it.
   * @param prepare the body without model and number
   */
  async call(verb: string, prepare: () => Promise<object> | object): Promise<Json> {
    this.isFresh = false;
    const begun = this.sent.then(async () => {
      const body = await prepare();
      const answer = await this.connection.post(verb, { model_id: this.id, seq_id: this.next, ...body });
      // Counted once the service has it: what it has refused has taken no number.
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

  /** The name, or another one like it, that was not asked for yet: what is deleted under a name is never what is saved under it next. */
  unused(name: string): string {
    let found = name;
    for (let count = 2; this.named.has(found); count += 1) found = `${name}-${count}`;
    this.named.add(found);
    return found;
  }

  /**
   * Saves weights under a name, or under another where the service has that one already: some know no numbers, and take a request that is sent
   * again for another one.
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

  /** What weights are after so many steps, as the service says, or as they are called here where it does not. */
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

/** A name for weights whose bytes are not at hand. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Whether a service says that it has a model no longer: SkyRL's was started anew, and has kept its session alone. */
export function isModelGone(error: unknown): error is Error {
  return error instanceof TinkerError && /\bmodel\b.{0,200}\bnot (loaded|found)\b/i.test(error.message);
}

/** Whether it is no longer known what the service has done. */
function isLoss(error: unknown): error is Error {
  if (isModelGone(error)) return true;
  return error instanceof TinkerError && error.category === 'worker';
}
