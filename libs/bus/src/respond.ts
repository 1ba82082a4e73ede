import type { Msg, Subscription } from '@nats-io/transport-node';
import type { Reply } from '@ui-rl/contracts';
import type { BusService } from './bus';
import { readBinary, writeBinary, type MessageClass } from './codec';
import { describeError, tooLarge } from './errors';
import { failure, isFailure } from './request';
import { waitAtMost } from './retry';

export interface RequestContext {
  subject: string;
  /** Aborts when the service is asked to stop. */
  signal: AbortSignal;
}

export interface RespondOptions<T> {
  subject: string;
  /** Processes of the same queue share the requests; without it every process answers. */
  queue?: string;
  schema: MessageClass<T>;
  /** Returns the value of the reply, or `failure(code, message)`. What it throws is logged and becomes `internal`. */
  handle(message: T, context: RequestContext): Promise<unknown>;
}

export interface Responder {
  /** Takes no further request and waits for the running ones. */
  stop(): Promise<void>;
  ended: Promise<void>;
}

const STOP_TIMEOUT_MS = 10_000;

export function startResponder<T>(bus: BusService, options: RespondOptions<T>): Responder {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const take = async (message: Msg) => {
    const answering = answer(bus, options, message, stopping.signal);
    running.add(answering);
    try {
      await answering;
    } catch (error) {
      bus.logger.error(`the reply to ${message.subject} could not be sent: ${describeError(error)}`);
    }
    running.delete(answering);
  };
  const subscription: Subscription = bus.connection.subscribe(options.subject, {
    queue: options.queue,
    callback: (error, message) => {
      if (error === null) void take(message);
      else bus.logger.error(`cannot serve ${options.subject}: ${describeError(error)}`);
    },
  });
  let end: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = async () => {
    if (!subscription.isClosed()) await subscription.drain().catch(() => undefined);
    stopping.abort();
    await waitAtMost(STOP_TIMEOUT_MS, Promise.allSettled(running));
    end();
  };
  return { stop, ended };
}

async function answer<T>(
  bus: BusService,
  options: RespondOptions<T>,
  message: Msg,
  signal: AbortSignal,
): Promise<void> {
  const reply = await replyTo(bus, options, message, signal);
  if (message.reply === undefined || message.reply === '' || bus.connection.isClosed()) return;
  let payload = writeBinary(reply);
  if (payload.byteLength > bus.maxPayloadBytes) {
    const text = tooLarge(`the reply of ${message.subject}`, payload.byteLength, bus.maxPayloadBytes);
    bus.logger.error(text);
    payload = writeBinary(failure('too_large', text));
  }
  message.respond(payload);
}

async function replyTo<T>(
  bus: BusService,
  options: RespondOptions<T>,
  message: Msg,
  signal: AbortSignal,
): Promise<Reply<unknown>> {
  const read = readBinary(message.data, options.schema);
  if (!read.ok) {
    const key = `${message.subject.replace(/[^A-Za-z0-9_.-]/g, '_')}.${Date.now()}`;
    // Not awaited: whoever asked learns of it at once.
    bus
      .deadLetter({ key, subject: message.subject, reason: read.reason }, message.data)
      .catch((error: unknown) => {
        bus.logger.error(
          `a message on ${message.subject} could not be stored as a dead letter: ${describeError(error)}`,
        );
      });
    return failure('bad_request', read.reason);
  }
  try {
    const value = await options.handle(read.value, { subject: message.subject, signal });
    return isFailure(value) ? value : { ok: true, value: value ?? null };
  } catch (error) {
    bus.logger.error(
      `${message.subject} failed: ${describeError(error)}`,
      error instanceof Error ? error.stack : undefined,
    );
    return failure('internal', describeError(error));
  }
}
