import { setMaxListeners } from 'node:events';
import type { Logger } from '@nestjs/common';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { SpanKind } from '@opentelemetry/api';
import { misplaced } from '@ui-rl/contracts';
import {
  DEADLINES,
  describeError,
  everyFewSeconds,
  pauseAfter,
  RETRIES,
  retry,
  type RetryPolicy,
  waitAtMost,
} from '@ui-rl/retry';
import type { Broker } from './broker';
import { readJson, type MessageSchema, type Read } from './codec';
import type { DeadLetters } from './dead-letter';
import { Delivery, identityOf } from './delivery';
import { DurableConsumer } from './durable-consumer';
import { attributesOf, traced, traceOf } from './tracing';
import { measures } from './measures';
import { operationOf } from './operations';
import { BusError, UnacceptableMessage } from './errors';
import type { Publisher } from './publisher';
import { isClosed, isTransient, withRetry } from './retry';

/** Longest wait for an unavailable broker while a reader stops. */
const DROP_PULLS_MS = 1_000;

/** The delivery that a handler processes. */
export interface JetStreamContext {
  subject: string;
  stream: string;
  streamSequence: number;
  /** The id it was published with, if any; the same for duplicates. */
  messageId?: string;
  /** ISO 8601 time at which the broker stored the message. */
  storedAt: string;
  /** 1 for the first delivery. */
  delivery: number;
  /** No further attempt follows; a failure leads to `exhausted`. */
  lastAttempt: boolean;
  /** Aborts when the service stops, or when the broker has lost the message and the work will be repeated. */
  signal: AbortSignal;
  /** For `exhausted`: the error of the last attempt, if known. */
  error?: unknown;
}

/** Number of deliveries and the pauses between them. */
export type RedeliveryPolicy = Required<Pick<RetryPolicy, 'firstMs' | 'maxMs' | 'attempts'>>;

export interface ConsumeOptions<T> {
  stream: string;
  /** Name of the durable consumer; processes that share it share the work. */
  durable: string;
  /** The consumer belongs to this process: it is deleted when stopped, or after ten minutes without a reader. */
  temporary?: boolean;
  /** One subject filter. */
  subject: string;
  /** Messages that fail its validation become dead letters. Without it, any JSON object is passed on. */
  schema?: MessageSchema<T>;
  /** Number of messages at a time; no further ones are fetched. Default 1. */
  concurrency?: number;
  /**
   * Time without a heartbeat after which the broker redelivers; a running handler sends `working` three times as
   * often. Default `DEADLINES.message`.
   */
  ackWaitMs?: number;
  /** Attempts before `exhausted`, and the pauses between them. Default `RETRIES.redelivery`. */
  retry?: RedeliveryPolicy;
  /** Where a new durable starts. Default `all`. */
  deliver?: 'all' | 'new';
  /** The message is acknowledged when this resolves, so its effect must be durable by then. */
  handle(message: T, context: JetStreamContext): Promise<void>;
  /**
   * Called once all attempts have failed, including attempts in which the process died. The message is acknowledged
   * when it resolves. Without this handler, the message becomes a dead letter.
   */
  exhausted?(message: T, context: JetStreamContext): Promise<void>;
}

export interface Consumption {
  /** Stops fetching, aborts the signal of running handlers and waits for them. */
  stop(): Promise<void>;
  /** Resolves when the consumption has stopped. */
  ended: Promise<void>;
}

export async function startConsumption<T>(
  broker: Broker,
  publisher: Publisher,
  deadLetters: DeadLetters,
  options: ConsumeOptions<T>,
): Promise<Consumption> {
  const loop = new ConsumptionLoop(broker, publisher, deadLetters, options);
  await loop.start();
  return loop;
}

class ConsumptionLoop<T> implements Consumption {
  readonly ended: Promise<void>;
  private readonly stopping = new AbortController();
  private readonly waiting = new Set<ConsumerMessages>();
  /** The messages in progress, by identity. */
  private readonly inFlight = new Map<string, Delivery>();
  private readonly logger: Logger;
  private readonly ackWaitMs: number;
  private readonly retry: RedeliveryPolicy;
  private readonly consumer: DurableConsumer;
  private slots: Promise<void>[] = [];
  private readonly handling = new Set<Promise<void>>();
  private end: () => void;

  constructor(
    private readonly broker: Broker,
    private readonly publisher: Publisher,
    private readonly deadLetters: DeadLetters,
    private readonly options: ConsumeOptions<T>,
  ) {
    this.logger = broker.logger;
    this.ackWaitMs = options.ackWaitMs ?? DEADLINES.message.ms;
    this.consumer = new DurableConsumer(broker, { ...options, ackWaitMs: this.ackWaitMs });
    this.retry = options.retry ?? RETRIES.redelivery;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    // Every slot listens to it, so many listeners are not a leak.
    setMaxListeners(0, this.stopping.signal);
  }

  async start(): Promise<void> {
    const { stream, durable } = this.options;
    await withRetry(`read ${stream} as ${durable}`, this.broker, () => this.consumer.open());
    // A pull request ends with its connection: pull again at once instead of waiting for its expiry.
    const unsubscribe = this.broker.onReconnect(() => {
      this.consumer.forget();
      for (const messages of this.waiting) messages.stop();
      void this.dropLost();
    });
    this.slots = Array.from({ length: this.options.concurrency ?? 1 }, () => this.runSlot());
    void this.finish(unsubscribe);
  }

  private async finish(unsubscribe: () => void): Promise<void> {
    await Promise.all(this.slots);
    unsubscribe();
    await Promise.all(this.handling);
    this.end();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    for (const messages of this.waiting) messages.stop();
    // While the broker still counts an abandoned pull, a message that is given back is redelivered only after
    // `ackWaitMs`.
    if (this.inFlight.size > 0) await waitAtMost(DROP_PULLS_MS, this.consumer.dropPulls());
    for (const delivery of this.inFlight.values()) delivery.end();
    await waitAtMost(DEADLINES.stopHandlers.ms, this.ended);
    // If the broker is unavailable, it deletes the consumer itself later.
    if (this.options.temporary === true && !this.broker.connection.isClosed()) await this.consumer.delete();
  }

  private async runSlot(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      let message: JsMsg | null;
      try {
        message = await this.nextWithRetry();
      } catch {
        // Stopped or closed; all other failures are retried.
        return;
      }
      if (message !== null) await this.process(message);
    }
  }

  private nextWithRetry(): Promise<JsMsg | null> {
    const { stream, durable } = this.options;
    const report = everyFewSeconds((error) =>
      this.logger.warn(`cannot read ${stream} as ${durable}, trying again: ${describeError(error)}`),
    );
    return retry(RETRIES.consume, () => this.next(), {
      signal: this.stopping.signal,
      isTransient: (error) => !isClosed(error),
      onFailure: async (error, failures) => {
        report(error, failures);
        this.consumer.forget();
        if (isTransient(error)) await this.broker.repair().catch(() => undefined);
      },
    });
  }

  /** One message, or null if none arrives in time. */
  private async next(): Promise<JsMsg | null> {
    const consumer = await this.consumer.open();
    const messages = await consumer.fetch({
      max_messages: 1,
      expires: DEADLINES.fetch.ms,
      idle_heartbeat: DEADLINES.pullHeartbeat.ms,
    });
    this.waiting.add(messages);
    if (this.stopping.signal.aborted) messages.stop();
    try {
      for await (const message of messages) {
        this.consumer.delivered(message);
        return message;
      }
      return null;
    } finally {
      this.waiting.delete(messages);
      messages.stop();
    }
  }

  /** Occupies the slot until the message is handled or lost by the broker. */
  private async process(message: JsMsg): Promise<void> {
    const identity = identityOf(message);
    // Redelivered after a late heartbeat: the running handler settles both deliveries, and this slot stays free.
    if (this.inFlight.has(identity)) {
      if (!this.broker.connection.isClosed()) message.working();
      return;
    }
    const delivery = new Delivery(this.broker, message, this.ackWaitMs);
    this.inFlight.set(identity, delivery);
    if (this.stopping.signal.aborted) delivery.end();
    const handling = this.handle(delivery).finally(() => {
      delivery.over();
      this.inFlight.delete(identity);
      this.handling.delete(handling);
    });
    this.handling.add(handling);
    await Promise.race([handling, delivery.lost]);
  }

  private async handle(delivery: Delivery): Promise<void> {
    try {
      await this.decide(delivery);
    } catch (error) {
      if (isClosed(error) || this.broker.closing.aborted) return;
      this.logger.error(
        `message ${describe(delivery.message)} stays unacknowledged: ${describeError(error)}`,
        stackOf(error),
      );
    }
  }

  /** Frees the slots of messages that the broker has lost: their replacements need them. */
  private async dropLost(): Promise<void> {
    for (const delivery of this.inFlight.values()) {
      const { message } = delivery;
      const isOurs = await delivery.isOurs().catch(() => true);
      if (!isOurs) this.logger.warn(`${this.options.durable}: NATS came back without ${describe(message)}`);
    }
  }

  private async decide(delivery: Delivery): Promise<void> {
    const { message } = delivery;
    const content = await this.contentOf(message);
    const read = content.ok ? readJson(content.value, this.options.schema) : content;
    if (!read.ok) return this.unreadable(delivery, read.reason);
    const elsewhere = misplaced(message.subject, read.value as object);
    if (elsewhere !== null) return this.unreadable(delivery, elsewhere);
    const context = this.contextOf(delivery);
    // More deliveries than attempts: the process died in the last one.
    if (context.delivery > this.retry.attempts) return this.exhaust(delivery, read.value, context);
    try {
      await this.measured(message, () => this.options.handle(read.value, context));
    } catch (error) {
      return this.failed(delivery, read.value, context, error);
    }
    // Awaited, so that a slot is free only when the broker has confirmed.
    await delivery.acknowledge();
  }

  private async measured(message: JsMsg, handle: () => Promise<void>): Promise<void> {
    const { subject } = message;
    const handled = measures.handling(this.options.stream);
    const attributes = { ...attributesOf(subject), 'messaging.consumer.group.name': this.options.durable };
    const span = { kind: SpanKind.CONSUMER, parent: traceOf(message), attributes };
    try {
      await traced(`handle ${operationOf(subject)}`, span, handle);
      handled('ok');
    } catch (error) {
      handled('failed');
      throw error;
    }
  }

  private async contentOf(message: JsMsg): Promise<Read<Uint8Array>> {
    try {
      const value = await this.publisher.contentOf(message);
      if (value !== null) return { ok: true, value };
      return { ok: false, reason: 'the blob that holds its content is not stored' };
    } catch (error) {
      if (!(error instanceof BusError) || error.category !== 'damaged') throw error;
      return { ok: false, reason: error.message };
    }
  }

  private async failed(
    delivery: Delivery,
    value: T,
    context: JetStreamContext,
    error: unknown,
  ): Promise<void> {
    const { message } = delivery;
    if (!(await delivery.isOurs())) return;
    if (error instanceof UnacceptableMessage) return this.deadLetter(delivery, describeError(error));
    if (this.stopping.signal.aborted) {
      message.nak();
      return;
    }
    this.logger.error(
      `${this.options.durable} failed on ${describe(message)}, attempt ${context.delivery} of ${this.retry.attempts}: ${describeError(error)}`,
      stackOf(error),
    );
    if (context.lastAttempt) return this.exhaust(delivery, value, { ...context, error });
    message.nak(pauseAfter(this.retry, context.delivery));
  }

  private async exhaust(delivery: Delivery, value: T, context: JetStreamContext): Promise<void> {
    const reason = context.error === undefined ? 'the process ended each time' : describeError(context.error);
    if (this.options.exhausted === undefined) {
      return this.deadLetter(delivery, `failed ${this.retry.attempts} times, at last: ${reason}`);
    }
    try {
      await this.options.exhausted(value, context);
    } catch (error) {
      const { message } = delivery;
      this.logger.error(
        `handling the last failure of ${describe(message)} failed: ${describeError(error)}`,
        stackOf(error),
      );
      message.nak(this.retry.maxMs);
      return;
    }
    await delivery.acknowledge();
  }

  private async deadLetter(delivery: Delivery, reason: string): Promise<void> {
    const { message } = delivery;
    await this.deadLetters.put(this.letterOf(message, reason), message.data);
    if (await delivery.isOurs()) message.term();
  }

  private async unreadable(delivery: Delivery, reason: string): Promise<void> {
    const { message } = delivery;
    await this.deadLetters.putUnreadable(this.letterOf(message, reason), message.data);
    if (await delivery.isOurs()) message.term();
  }

  private letterOf({ subject, info }: JsMsg, reason: string) {
    return { key: `${this.options.stream}.${info.streamSequence}`, subject, reason };
  }

  private contextOf({ message, signal }: Delivery): JetStreamContext {
    const { info } = message;
    return {
      subject: message.subject,
      stream: info.stream,
      streamSequence: info.streamSequence,
      messageId: message.headers?.get('Nats-Msg-Id') || undefined,
      storedAt: new Date(info.timestampNanos / 1e6).toISOString(),
      delivery: info.deliveryCount,
      lastAttempt: info.deliveryCount >= this.retry.attempts,
      signal,
    };
  }
}

function describe(message: JsMsg): string {
  return `${message.subject} #${message.info.streamSequence}`;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
