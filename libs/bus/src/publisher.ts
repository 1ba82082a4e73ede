import type { PubAck } from '@nats-io/jetstream';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { SpanKind } from '@opentelemetry/api';
import { isRunId, runOfSubject, subjects, type RunEvent } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import type { BlobStore } from './blobs';
import type { Broker } from './broker';
import { writeJson } from './codec';
import { BusError, tooLarge } from './errors';
import { MAX_PARTED_BYTES } from './parts';
import { measures } from './measures';
import { operationOf } from './operations';
import { withRetry } from './retry';
import { attributesOf, traced, withTrace } from './tracing';

export type EventBody<E> = E extends RunEvent ? Omit<E, 'at'> & { at?: string } : never;

/** Header of a message that stands for a larger one, the blob of this hash. */
const BLOB = 'Uirl-Blob';

/** A message as stored in a stream. */
export interface Published {
  subject: string;
  headers?: MsgHdrs;
  data: Uint8Array;
}

/**
 * Publishes messages to streams. A message larger than the broker accepts is stored as a blob of its run, and a short
 * message refers to it.
 */
export class Publisher {
  constructor(
    private readonly broker: Broker,
    private readonly blobs: BlobStore,
  ) {}

  /** See `BusService.publishJson`. */
  async publishJson(subject: string, value: unknown, id: string): Promise<PubAck> {
    const payload = writeJson(value);
    if (payload.byteLength <= this.broker.maxMessageBytes) return this.publish(subject, payload, id);
    const runId = runOfSubject(subject);
    if (runId === null || payload.byteLength > MAX_PARTED_BYTES) {
      const limit = runId === null ? this.broker.maxMessageBytes : MAX_PARTED_BYTES;
      throw new BusError('too_large', tooLarge(subject, payload.byteLength, limit));
    }
    const blob = await this.blobs.of(runId).put(payload);
    return this.publish(subject, writeJson({ blob, sizeBytes: payload.byteLength }), id, blob);
  }

  /** See `BusService.event`. */
  async event(event: EventBody<RunEvent>, id: string): Promise<void> {
    if (!isRunId(event.runId)) throw new BusError('configuration', `"${event.runId}" is not a run id`);
    const at = event.at ?? new Date().toISOString();
    await this.publishJson(
      subjects.event(event.runId, event.type),
      { ...event, at },
      `${event.runId}.${event.type}.${id}`,
    );
  }

  /**
   * The original bytes of a message, inline or stored. Null if they are missing or deleted. Throws `BusError`
   * `damaged`.
   */
  async contentOf({ subject, headers: header, data }: Published): Promise<Uint8Array | null> {
    const blob = header?.get(BLOB) ?? '';
    const runId = runOfSubject(subject);
    if (blob === '' || runId === null) return data;
    return this.blobs.of(runId).get(blob);
  }

  private publish(subject: string, payload: Uint8Array, id: string, blob?: string): Promise<PubAck> {
    const header = headers();
    if (blob !== undefined) header.set(BLOB, blob);
    const operation = operationOf(subject);
    const span = { kind: SpanKind.PRODUCER, attributes: attributesOf(subject) };
    return traced(`publish ${operation}`, span, async () => {
      const options = { msgID: id, timeout: DEADLINES.publish.ms, headers: withTrace(header) };
      const stored = await withRetry(`publish to ${subject}`, this.broker, () =>
        this.broker.js.publish(subject, payload, options),
      );
      measures.published(operation);
      return stored;
    });
  }
}
