import type { Logger } from '@nestjs/common';
import type { Msg, Subscription } from '@nats-io/transport-node';
import { SpanKind } from '@opentelemetry/api';
import type { Reply } from '@ui-rl/contracts';
import { DEADLINES, describeError, waitAtMost } from '@ui-rl/retry';
import type { Broker } from './broker';
import { readBinary, writeBinary, type MessageClass } from './codec';
import type { DeadLetters } from './dead-letter';
import { tooLarge } from './errors';
import { measures } from './measures';
import { operationOf } from './operations';
import { MAX_REQUEST_BYTES, packed, unpacked } from './parcels';
import { failure, isFailure } from './reply';
import { attributesOf, failSpan, traced, traceOf } from './tracing';

export interface RequestContext {
  subject: string;
  /** Aborts when the service is asked to stop. */
  signal: AbortSignal;
}

export interface RespondOptions<T> {
  subject: string;
  /** Processes with the same queue share the requests; without a queue every process answers. */
  queue?: string;
  schema: MessageClass<T>;
  /** Returns the value of the reply, or `failure(code, message)`. An exception is logged and becomes `internal`. */
  handle(message: T, context: RequestContext): Promise<unknown>;
}

export interface Responder {
  /** Stops receiving requests and waits for the running ones. */
  stop(): Promise<void>;
  ended: Promise<void>;
}

/**
 * Maximum number of concurrent requests of a responder. Each may hold megabytes of pixels: beyond this limit the
 * service answers `capacity`, which clients retry, instead of running out of memory.
 */
const MAX_IN_FLIGHT = 1_024;

export function startResponder<T>(
  broker: Broker,
  deadLetters: DeadLetters,
  options: RespondOptions<T>,
): Responder {
  const server = new RequestServer(broker, deadLetters, options);
  server.start();
  return server;
}

class RequestServer<T> implements Responder {
  readonly ended: Promise<void>;
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();
  private readonly logger: Logger;
  private subscription: Subscription;
  private end: () => void;

  constructor(
    private readonly broker: Broker,
    private readonly deadLetters: DeadLetters,
    private readonly options: RespondOptions<T>,
  ) {
    this.logger = broker.logger;
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  start(): void {
    const { subject, queue } = this.options;
    this.subscription = this.broker.connection.subscribe(subject, {
      queue,
      callback: (error, message) => {
        if (error === null) void this.take(message);
        else this.logger.error(`cannot serve ${subject}: ${describeError(error)}`);
      },
    });
  }

  async stop(): Promise<void> {
    if (!this.subscription.isClosed()) await this.subscription.drain().catch(() => undefined);
    this.stopping.abort();
    await waitAtMost(DEADLINES.stopHandlers.ms, Promise.allSettled(this.running));
    this.end();
  }

  private async take(message: Msg): Promise<void> {
    const answering = this.answer(message);
    this.running.add(answering);
    try {
      await answering;
    } catch (error) {
      this.logger.error(`the reply to ${message.subject} could not be sent: ${describeError(error)}`);
    }
    this.running.delete(answering);
  }

  private async answer(message: Msg): Promise<void> {
    const reply = await this.measured(message, () =>
      this.running.size < MAX_IN_FLIGHT
        ? this.replyTo(message)
        : Promise.resolve(
            failure('capacity', `${MAX_IN_FLIGHT} requests to ${message.subject} are being answered`),
          ),
    );
    const { connection } = this.broker;
    if (message.reply === undefined || message.reply === '' || connection.isClosed()) return;
    let payload = writeBinary(reply);
    if (payload.byteLength > MAX_REQUEST_BYTES) {
      const text = tooLarge(`the reply of ${message.subject}`, payload.byteLength, MAX_REQUEST_BYTES);
      this.logger.error(text);
      payload = writeBinary(failure('too_large', text));
    }
    const sent = await packed(this.broker, payload);
    message.respond(sent.payload, { headers: sent.headers });
  }

  private measured(message: Msg, answer: () => Promise<Reply<unknown>>): Promise<Reply<unknown>> {
    const { subject } = message;
    const operation = operationOf(subject);
    const span = { kind: SpanKind.SERVER, parent: traceOf(message), attributes: attributesOf(subject) };
    return traced(`answer ${operation}`, span, async () => {
      const answered = measures.answering(operation);
      const reply = await answer();
      answered(reply.ok ? 'ok' : 'failed');
      if (!reply.ok) failSpan(`${reply.error.code}: ${reply.error.message}`);
      return reply;
    });
  }

  private async replyTo(message: Msg): Promise<Reply<unknown>> {
    const { subject } = message;
    const data = await unpacked(this.broker, message).catch((error: unknown) => {
      this.logger.error(`a request to ${subject} cannot be read: ${describeError(error)}`);
      return null;
    });
    // Treated as if there were no listener: the client sends the request again.
    if (data === null) return failure('disconnected', `the request to ${subject} was lost on its way`);
    const read = readBinary(data, this.options.schema);
    if (!read.ok) {
      // Not awaited, so that the client gets its reply immediately.
      void this.deadLetter(subject, read.reason, data);
      return failure('bad_request', read.reason);
    }
    try {
      const value = await this.options.handle(read.value, { subject, signal: this.stopping.signal });
      return isFailure(value) ? value : { ok: true, value: value ?? null };
    } catch (error) {
      const stack = error instanceof Error ? error.stack : undefined;
      this.logger.error(`${subject} failed: ${describeError(error)}`, stack);
      return failure('internal', describeError(error));
    }
  }

  private async deadLetter(subject: string, reason: string, data: Uint8Array): Promise<void> {
    const key = `${subject.replace(/[^A-Za-z0-9_.-]/g, '_')}.${Date.now()}`;
    try {
      await this.deadLetters.putUnreadable({ key, subject, reason }, data);
    } catch (error) {
      this.logger.error(
        `a message on ${subject} could not be stored as a dead letter: ${describeError(error)}`,
      );
    }
  }
}
