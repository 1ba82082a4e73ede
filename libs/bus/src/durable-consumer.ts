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
 * Limit on unacknowledged messages and on waiting pulls of all readers of a consumer together. The broker's defaults,
 * 1000 and 512, are below the number of slots of a large fleet. Readers limit themselves: each pulls only for its
 * free slots.
 */
const MAX_PLACES = 16_384;
/** nats-server cannot change this setting of an existing consumer. */
const WAITING_IS_FIXED = /max waiting/i;

export interface DurableOptions {
  stream: string;
  durable: string;
  subject: string;
  temporary?: boolean;
  deliver?: 'all' | 'new';
  ackWaitMs: number;
}

/** A durable consumer, created if missing and recreated if it does not match its stream. */
export class DurableConsumer {
  private opened: Promise<Consumer> | null = null;
  /** The last received message; if the broker has another one at its position, its store is an older copy. */
  private last: Position | undefined;

  constructor(
    private readonly broker: Broker,
    private readonly options: DurableOptions,
  ) {}

  /** Throws `BusError` `configuration` if the broker rejects it. */
  open(): Promise<Consumer> {
    this.opened ??= this.ensure().catch((error: unknown) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  /** Makes the next `open` check the consumer again. */
  forget(): void {
    this.opened = null;
  }

  delivered({ info: { streamSequence: sequence, timestampNanos } }: JsMsg): void {
    this.last = { sequence, timestampNanos };
  }

  /**
   * Makes the broker drop abandoned pulls, which it does when asked for their number. Otherwise nats-server 2.9 would
   * try to deliver a returned message to such a pull and lose track of it.
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

  /** A consumer created with a lower pull limit keeps it. */
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
      // Readers count attempts, so that no message is dropped silently.
      max_deliver: -1,
      max_ack_pending: MAX_PLACES,
      deliver_policy: deliver === 'new' ? DeliverPolicy.New : DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      ...(temporary ? { inactive_threshold: nanos(DEADLINES.unreadConsumer.ms) } : {}),
    };
  }
}
