import { JetStreamApiError, type MsgRequest, type NextMsgRequest } from '@nats-io/jetstream';
import type { Broker } from './broker';
import { readJson, type MessageSchema } from './codec';
import type { Publisher } from './publisher';
import { countBySubject } from './run-messages';
import { withRetry } from './retry';

/** The pending work of a durable consumer. */
export interface Backlog {
  /** Messages in the stream that were not delivered. */
  waiting: number;
  /** Messages that were delivered but not acknowledged. */
  unacknowledged: number;
}

const NO_CONSUMER = 10014;
const NO_STREAM = 10059;

/**
 * The messages of one subject in a stream, oldest first; in a work queue, those that are pending or in progress.
 * Skips messages that fail the schema. Waits while the broker is unavailable.
 */
export async function* storedMessages<T>(
  broker: Broker,
  publisher: Publisher,
  stream: string,
  subject: string,
  schema?: MessageSchema<T>,
): AsyncGenerator<T> {
  for (let seq = 1; ;) {
    // The client's types allow this for direct reads only.
    const query = { seq, next_by_subj: subject } satisfies NextMsgRequest as unknown as MsgRequest;
    const found = await withRetry(`read ${subject}`, broker, () =>
      broker.jsm.streams.getMessage(stream, query),
    );
    if (found === null) return;
    seq = found.seq + 1;
    const { subject: name, header, data } = found;
    const content = await publisher.contentOf({ subject: name, headers: header, data });
    const read = content === null ? null : readJson(content, schema);
    if (read?.ok === true) yield read.value;
  }
}

/** The number of messages of a subject in a stream. */
export async function storedCount(broker: Broker, stream: string, subject: string): Promise<number> {
  const counts = await withRetry(`count ${subject}`, broker, () => countBySubject(broker, stream, subject));
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** Null if the consumer does not exist: it was never created, or was deleted with its stream. */
export async function backlogOf(broker: Broker, stream: string, durable: string): Promise<Backlog | null> {
  return withRetry(`ask for the backlog of ${durable}`, broker, async () => {
    try {
      const { num_pending, num_ack_pending } = await broker.jsm.consumers.info(stream, durable);
      return { waiting: num_pending, unacknowledged: num_ack_pending };
    } catch (error) {
      if (error instanceof JetStreamApiError && [NO_CONSUMER, NO_STREAM].includes(error.code)) return null;
      throw error;
    }
  });
}
