import type { Logger } from '@nestjs/common';
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  ReplayPolicy,
  type Consumer,
  type ConsumerMessages,
  type JsMsg,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import {
  DEADLINES,
  everyFewSeconds,
  pauseAfter,
  RETRIES,
  retry,
  waitAtMost,
  type RetryPolicy,
} from '@ui-rl/retry';
import type { Broker } from './broker';
import { readJson, type MessageSchema } from './codec';
import type { DeadLetters } from './dead-letter';
import { BusError, describeError, UnacceptableMessage } from './errors';
import { isClosed, isTransient } from './retry';

/** What a handler knows about the delivery. */
export interface JetStreamContext {
  subject: string;
  stream: string;
  streamSequence: number;
  /** The id it was published under, where it has one; the same for what was published twice. */
  messageId?: string;
  /** ISO 8601 time at which the message was stored. */
  storedAt: string;
  /** 1 for the first delivery. */
  delivery: number;
  /** No further attempt follows; a failure now leads to `exhausted`. */
  lastAttempt: boolean;
  /** Aborts when the service is asked to stop. */
  signal: AbortSignal;
  /** For `exhausted`: what the last attempt ended with, where that is known. */
  error?: unknown;
}

/** How often a message is delivered, and the pauses in between. */
export type RedeliveryPolicy = Required<Pick<RetryPolicy, 'firstMs' | 'maxMs' | 'attempts'>>;

export interface ConsumeOptions<T> {
  stream: string;
  /** Name of the durable consumer; processes that share it share the work. */
  durable: string;
  /** One subject filter. */
  subject: string;
  /** Messages that do not pass its validation become dead letters. Without it any JSON object is handed over. */
  schema?: MessageSchema<T>;
  /** Messages at a time; nothing is fetched beyond that. Default 1. */
  concurrency?: number;
  /** Silence after which the broker delivers again; while a handler runs, `working` is sent three times as often. Default `DEADLINES.message`. */
  ackWaitMs?: number;
  /** Attempts before `exhausted`, and the pauses between them. Default `RETRIES.redelivery`. */
  retry?: RedeliveryPolicy;
  /** Where a new durable starts. Default `all`. */
  deliver?: 'all' | 'new';
  /** Its effect is durable when it resolves: then the message is acknowledged. */
  handle(message: T, context: JetStreamContext): Promise<void>;
  /**
   * Runs once all attempts failed, also when the process died in each of them; the message is acknowledged when it
   * resolves. Without it the message becomes a dead letter.
   */
  exhausted?(message: T, context: JetStreamContext): Promise<void>;
}

export interface Consumption {
  /** Takes no further message and waits for the running handlers (their context's signal aborts). */
  stop(): Promise<void>;
  /** Resolves when it has stopped. */
  ended: Promise<void>;
}

export async function startConsumption<T>(
  broker: Broker,
  deadLetters: DeadLetters,
  options: ConsumeOptions<T>,
): Promise<Consumption> {
  const loop = new ConsumptionLoop(broker, deadLetters, options);
  await loop.start();
  return loop;
}

class ConsumptionLoop<T> implements Consumption {
  readonly ended: Promise<void>;
  private readonly stopping = new AbortController();
  private readonly waiting = new Set<ConsumerMessages>();
  /** The messages that are being handled, by position and time in the stream. */
  private readonly inFlight = new Set<string>();
  private readonly logger: Logger;
  private readonly ackWaitMs: number;
  private readonly retry: RedeliveryPolicy;
  private consumer: Promise<Consumer> | null = null;
  private slots: Promise<void>[] = [];
  private end: () => void;

  constructor(
    private readonly broker: Broker,
    private readonly deadLetters: DeadLetters,
    private readonly options: ConsumeOptions<T>,
  ) {
    this.logger = broker.logger;
    this.ackWaitMs = options.ackWaitMs ?? DEADLINES.message.ms;
    this.retry = options.retry ?? RETRIES.redelivery;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  async start(): Promise<void> {
    await this.openConsumer();
    // A pull request dies with the connection it was made over: pull again at once instead of waiting for its expiry.
    const unsubscribe = this.broker.onReconnect(() => {
      this.consumer = null;
      for (const messages of this.waiting) messages.stop();
    });
    this.slots = Array.from({ length: this.options.concurrency ?? 1 }, () => this.runSlot());
    void this.finish(unsubscribe);
  }

  private async finish(unsubscribe: () => void): Promise<void> {
    await Promise.all(this.slots);
    unsubscribe();
    this.end();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    for (const messages of this.waiting) messages.stop();
    await waitAtMost(DEADLINES.stopHandlers.ms, this.ended);
  }

  private async runSlot(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      let message: JsMsg | null;
      try {
        message = await this.nextWithRetry();
      } catch {
        // Stopped or closed: nothing else ends the trying.
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
        this.consumer = null;
        if (isTransient(error)) await this.broker.repair().catch(() => undefined);
      },
    });
  }

  /** One message, or null when none came within the waiting time. */
  private async next(): Promise<JsMsg | null> {
    const consumer = await this.openConsumer();
    const messages = await consumer.fetch({ max_messages: 1, expires: DEADLINES.fetch.ms });
    this.waiting.add(messages);
    if (this.stopping.signal.aborted) messages.stop();
    try {
      for await (const message of messages) return message;
      return null;
    } finally {
      this.waiting.delete(messages);
      messages.stop();
    }
  }

  private async process(message: JsMsg): Promise<void> {
    const identity = `${message.info.streamSequence}@${message.info.timestampNanos}`;
    // Delivered again since a heartbeat came late: whoever handles it answers for both, and this slot stays free.
    if (this.inFlight.has(identity)) {
      if (!this.broker.connection.isClosed()) message.working();
      return;
    }
    this.inFlight.add(identity);
    const heartbeat = setInterval(() => {
      if (this.broker.connection.isClosed()) clearInterval(heartbeat);
      else message.working();
    }, this.ackWaitMs / 3);
    try {
      await this.decide(message);
    } catch (error) {
      if (isClosed(error) || this.broker.closing.aborted) return;
      this.logger.error(
        `message ${describe(message)} stays unacknowledged: ${describeError(error)}`,
        stackOf(error),
      );
    } finally {
      clearInterval(heartbeat);
      this.inFlight.delete(identity);
    }
  }

  private async decide(message: JsMsg): Promise<void> {
    const read = readJson(message.data, this.options.schema);
    if (!read.ok) return this.deadLetter(message, read.reason);
    const context = this.contextOf(message);
    // More deliveries than attempts: the process died in the last one.
    if (context.delivery > this.retry.attempts) return this.exhaust(message, read.value, context);
    try {
      await this.options.handle(read.value, context);
    } catch (error) {
      return this.failed(message, read.value, context, error);
    }
    await acknowledge(message);
  }

  private async failed(message: JsMsg, value: T, context: JetStreamContext, error: unknown): Promise<void> {
    if (error instanceof UnacceptableMessage) return this.deadLetter(message, describeError(error));
    if (this.stopping.signal.aborted) {
      message.nak();
      return;
    }
    this.logger.error(
      `${this.options.durable} failed on ${describe(message)}, attempt ${context.delivery} of ${this.retry.attempts}: ${describeError(error)}`,
      stackOf(error),
    );
    if (context.lastAttempt) return this.exhaust(message, value, { ...context, error });
    message.nak(pauseAfter(this.retry, context.delivery));
  }

  private async exhaust(message: JsMsg, value: T, context: JetStreamContext): Promise<void> {
    const reason = context.error === undefined ? 'the process ended each time' : describeError(context.error);
    if (this.options.exhausted === undefined) {
      return this.deadLetter(message, `failed ${this.retry.attempts} times, at last: ${reason}`);
    }
    try {
      await this.options.exhausted(value, context);
    } catch (error) {
      this.logger.error(
        `handling the last failure of ${describe(message)} failed: ${describeError(error)}`,
        stackOf(error),
      );
      message.nak(this.retry.maxMs);
      return;
    }
    await acknowledge(message);
  }

  private async deadLetter(message: JsMsg, reason: string): Promise<void> {
    const key = `${this.options.stream}.${message.info.streamSequence}.${this.broker.service}`;
    await this.deadLetters.put({ key, subject: message.subject, reason }, message.data);
    message.term();
  }

  private contextOf(message: JsMsg): JetStreamContext {
    const { info } = message;
    return {
      subject: message.subject,
      stream: info.stream,
      streamSequence: info.streamSequence,
      messageId: message.headers?.get('Nats-Msg-Id') || undefined,
      storedAt: new Date(info.timestampNanos / 1e6).toISOString(),
      delivery: info.deliveryCount,
      lastAttempt: info.deliveryCount >= this.retry.attempts,
      signal: this.stopping.signal,
    };
  }

  private openConsumer(): Promise<Consumer> {
    this.consumer ??= this.ensureConsumer().catch((error: unknown) => {
      this.consumer = null;
      throw error;
    });
    return this.consumer;
  }

  private async ensureConsumer(): Promise<Consumer> {
    const { stream, durable, subject } = this.options;
    try {
      await this.broker.jsm.consumers.add(stream, {
        durable_name: durable,
        filter_subject: subject,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(this.ackWaitMs),
        // Attempts are counted here, so that a message is never dropped in silence.
        max_deliver: -1,
        deliver_policy: this.options.deliver === 'new' ? DeliverPolicy.New : DeliverPolicy.All,
        replay_policy: ReplayPolicy.Instant,
      });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || isTransient(error)) throw error;
      throw new BusError(
        'configuration',
        `cannot read stream ${stream} as "${durable}" with filter ${subject}: ${error.message}. Another consumer may hold that name or filter: nats consumer report ${stream}`,
        { cause: error },
      );
    }
    return this.broker.js.consumers.get(stream, durable);
  }
}

async function acknowledge(message: JsMsg): Promise<void> {
  // Awaited, so that a slot is free only when the broker knows; unanswered, the message comes again.
  if (!(await message.ackAck())) throw new Error('the broker did not confirm the acknowledgement');
}

function describe(message: JsMsg): string {
  return `${message.subject} #${message.info.streamSequence}`;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
