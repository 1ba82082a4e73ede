import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  ReplayPolicy,
  type Consumer,
  type ConsumerConfig,
  type ConsumerInfo,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { DEADLINES } from '@ui-rl/retry';
import type { Broker } from './broker';
import { BusError } from './errors';
import { readsAhead, type Position } from './positions';
import { isTransient } from './retry';

/**
 * Messages that all readers of a consumer may work at, and pulls of theirs that may wait, together. The broker's own bounds, 1000 and
 * 512, are fewer than the places of a large fleet; a reader pulls as many as it has free places, which is the bound that counts.
 */
const MAX_PLACES = 16_384;
/** nats-server does not change that of a consumer that exists. */
const WAITING_IS_FIXED = /max waiting/i;

export interface DurableOptions {
  stream: string;
  durable: string;
  subject: string;
  temporary?: boolean;
  deliver?: 'all' | 'new';
  ackWaitMs: number;
}

/** A durable consumer, which is made where the broker has none, and made anew where it does not fit its stream. */
export class DurableConsumer {
  private opened: Promise<Consumer> | null = null;
  /** The last message that came; where the broker has another one there, its store is an older copy. */
  private last: Position | undefined;

  constructor(
    private readonly broker: Broker,
    private readonly options: DurableOptions,
  ) {}

  /** Throws `BusError` `configuration` where the broker refuses it. */
  open(): Promise<Consumer> {
    this.opened ??= this.ensure().catch((error: unknown) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  /** Has the next `open` look at it again. */
  forget(): void {
    this.opened = null;
  }

  delivered({ info: { streamSequence: sequence, timestampNanos } }: JsMsg): void {
    this.last = { sequence, timestampNanos };
  }

  /**
   * Has the broker drop the pulls that nobody waits for any more, as it does where it is asked how many there are. nats-server 2.9 would
   * try to hand them a message that is given back, and forget that it was.
   */
  async dropPulls(): Promise<void> {
    const { stream, durable } = this.options;
    await this.broker.jsm.consumers.info(stream, durable).catch(() => undefined);
  }

  async delete(): Promise<void> {
    const { stream, durable } = this.options;
    await this.broker.jsm.consumers.delete(stream, durable).catch(() => undefined);
  }

  private async ensure(): Promise<Consumer> {
    const { stream, durable } = this.options;
    const info = await this.add();
    if (await readsAhead(this.broker, stream, info, this.last)) {
      this.broker.logger.warn(
        `${stream} is an older copy than ${durable} knows: it is read from its beginning`,
      );
      await this.delete();
      await this.add();
    }
    this.last = undefined;
    return this.broker.js.consumers.get(stream, durable);
  }

  private async add(): Promise<ConsumerInfo> {
    const { stream, durable, subject } = this.options;
    try {
      return await this.addOrUpdate();
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || isTransient(error)) throw error;
      throw new BusError(
        'configuration',
        `cannot read stream ${stream} as "${durable}" with filter ${subject}: ${error.message}. Another consumer may hold that name or filter: nats consumer report ${stream}`,
        { cause: error },
      );
    }
  }

  /** One that was made with room for fewer pulls keeps that. */
  private async addOrUpdate(): Promise<ConsumerInfo> {
    const { consumers } = this.broker.jsm;
    const { stream } = this.options;
    try {
      return await consumers.add(stream, { ...this.config, max_waiting: MAX_PLACES });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || !WAITING_IS_FIXED.test(error.message)) throw error;
      return consumers.add(stream, this.config);
    }
  }

  private get config(): Partial<ConsumerConfig> {
    const { durable, subject, ackWaitMs, deliver, temporary = false } = this.options;
    return {
      durable_name: durable,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ackWaitMs),
      // Attempts are counted by who reads, so that a message is never dropped in silence.
      max_deliver: -1,
      max_ack_pending: MAX_PLACES,
      deliver_policy: deliver === 'new' ? DeliverPolicy.New : DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      ...(temporary ? { inactive_threshold: nanos(DEADLINES.unreadConsumer.ms) } : {}),
    };
  }
}
