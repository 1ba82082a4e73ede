import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';
import { SpanKind } from '@opentelemetry/api';
import type { Reply } from '@ui-rl/contracts';
import { describeError, MAX_WAIT_MS } from '@ui-rl/retry';
import type { Broker } from './broker';
import { instantiate, readBinary, writeBinary, type MessageClass } from './codec';
import { tooLarge } from './errors';
import { measures } from './measures';
import { operationOf } from './operations';
import { MAX_REQUEST_BYTES, packed, unpacked } from './parcels';
import { failure, isFailure } from './reply';
import { isClosed } from './retry';
import { attributesOf, failSpan, traced, withTrace } from './tracing';

/**
 * Sends one request. Payloads larger than the broker accepts travel in parts, in both directions. Codes of this side:
 * `no_responders`, `timeout`, `disconnected`, `too_large`, `bad_reply`, `closed`; all others come from the handler.
 */
export function request<T>(
  broker: Broker,
  subject: string,
  value: unknown,
  timeoutMs: number,
  schema: MessageClass<T> | undefined,
): Promise<Reply<T>> {
  const operation = operationOf(subject);
  const span = { kind: SpanKind.CLIENT, attributes: attributesOf(subject) };
  return traced(`request ${operation}`, span, async () => {
    const answered = measures.requesting(operation);
    const reply = await ask(broker, subject, value, timeoutMs, schema);
    answered(reply.ok ? 'ok' : 'failed');
    if (!reply.ok) failSpan(`${reply.error.code}: ${reply.error.message}`);
    return reply;
  });
}

/** After the first reply to `gather`, the longest pause before the next one. */
const NEXT_REPLY_MS = 250;

/**
 * The values of all responders that reply to a request in time. Failures and replies that cannot be read are logged
 * and left out.
 */
export async function gather<T>(
  broker: Broker,
  subject: string,
  value: unknown,
  withinMs: number,
  schema: MessageClass<T>,
): Promise<T[]> {
  const values: T[] = [];
  try {
    const options = { strategy: 'stall' as const, maxWait: withinMs, stall: NEXT_REPLY_MS };
    for await (const message of await broker.connection.requestMany(subject, writeBinary(value), options)) {
      const bytes = await unpacked(broker, message);
      const reply = bytes === null ? null : readReply(subject, bytes, schema);
      if (reply?.ok === true) values.push(reply.value);
      else if (reply !== null)
        broker.logger.warn(`a reply to ${subject} is left out: ${reply.error.message}`);
    }
  } catch (error) {
    const { error: failed } = failureOf(subject, withinMs, error) as Extract<Reply<never>, { ok: false }>;
    if (failed.code !== 'no_responders' && failed.code !== 'timeout') broker.logger.warn(failed.message);
  }
  return values;
}

async function ask<T>(
  broker: Broker,
  subject: string,
  value: unknown,
  timeoutMs: number,
  schema: MessageClass<T> | undefined,
): Promise<Reply<T>> {
  const payload = writeBinary(value);
  if (payload.byteLength > MAX_REQUEST_BYTES) {
    return failure('too_large', tooLarge(subject, payload.byteLength, MAX_REQUEST_BYTES));
  }
  try {
    const sent = await packed(broker, payload);
    const options = { timeout: Math.min(timeoutMs, MAX_WAIT_MS), headers: withTrace(sent.headers) };
    const reply = await unpacked(broker, await broker.connection.request(subject, sent.payload, options));
    if (reply === null) return failure('disconnected', `the reply from ${subject} was lost on its way`);
    return readReply(subject, reply, schema);
  } catch (error) {
    return failureOf(subject, timeoutMs, error);
  }
}

/**
 * Whether no responder received the request: there is none, or the connection is down. The request can safely be sent
 * again.
 */
export function isUnanswered(reply: Reply<unknown>): boolean {
  return !reply.ok && (reply.error.code === 'no_responders' || reply.error.code === 'disconnected');
}

function failureOf(subject: string, timeoutMs: number, error: unknown): Reply<never> {
  if (error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())) {
    return failure('no_responders', `no answer to ${subject}: is the service that serves it running?`);
  }
  if (
    error instanceof TimeoutError ||
    (error instanceof RequestError && error.cause instanceof TimeoutError)
  ) {
    return failure('timeout', `no answer from ${subject} within ${timeoutMs} ms`);
  }
  if (isClosed(error)) return failure('closed', `the bus closed during a request to ${subject}`);
  return failure('disconnected', `the request to ${subject} failed: ${describeError(error)}`);
}

function readReply<T>(subject: string, bytes: Uint8Array, schema: MessageClass<T> | undefined): Reply<T> {
  const read = readBinary<Reply<unknown>>(bytes);
  if (!read.ok) return failure('bad_reply', `the reply from ${subject} cannot be read: ${read.reason}`);
  const reply = read.value;
  if (isFailure(reply)) return reply;
  if (reply.ok !== true)
    return failure('bad_reply', `the reply from ${subject} is neither a value nor an error`);
  if (schema === undefined) return reply as Reply<T>;
  if (typeof reply.value !== 'object' || reply.value === null) {
    return failure('bad_reply', `the reply from ${subject} holds no object`);
  }
  const value = instantiate(reply.value, schema);
  return value.ok ? value : failure('bad_reply', `the reply from ${subject} is malformed: ${value.reason}`);
}
