import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Broker } from './broker';

/**
 * A killed broker may return with an older copy of its store, because it answers before its data is on disk. Streams
 * then reuse sequence numbers, and consumers, which are stored separately from their streams, may be positioned
 * beyond the end.
 */

/** A message of a stream. */
export interface Position {
  sequence: number;
  timestampNanos: number;
}

/** Whether the stream holds exactly this message at its position. */
export async function isStored(broker: Broker, stream: string, position: Position): Promise<boolean> {
  const message = await broker.jsm.streams.getMessage(stream, { seq: position.sequence });
  return message !== null && isSame(message.time, position);
}

/**
 * Whether a consumer has received messages that its stream no longer has, so that it would skip the messages that
 * replace them.
 * @param last the last message that this process received
 */
export async function readsAhead(
  broker: Broker,
  stream: string,
  { delivered }: ConsumerInfo,
  last: Position | undefined,
): Promise<boolean> {
  if (delivered.stream_seq === 0) return false;
  const { state } = await broker.jsm.streams.info(stream);
  if (delivered.stream_seq > state.last_seq) return true;
  if (last === undefined || delivered.stream_seq < last.sequence) return false;
  const message = await broker.jsm.streams.getMessage(stream, { seq: last.sequence });
  return message !== null && !isSame(message.time, last);
}

/** Nanoseconds since 1970 exceed the precision of a number. */
function isSame(time: Date, { timestampNanos }: Position): boolean {
  return Math.abs(time.getTime() - timestampNanos / 1e6) < 2;
}
