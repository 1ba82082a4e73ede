import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Broker } from './broker';

/**
 * A broker that was killed may come back on an older copy of its store: it answers before its data is on disk. Streams then number
 * new messages as they had numbered others, and consumers, which are written apart from their streams, may stand behind the end.
 */

/** A message of a stream. */
export interface Position {
  sequence: number;
  timestampNanos: number;
}

/** Whether the stream has the very message there. */
export async function isStored(broker: Broker, stream: string, position: Position): Promise<boolean> {
  const message = await broker.jsm.streams.getMessage(stream, { seq: position.sequence });
  return message !== null && isSame(message.time, position);
}

/**
 * Whether a consumer has been given messages that its stream no longer has, so that it would pass over those that take their place.
 * @param last the last message that came to this process
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

/** Nanoseconds since 1970 are too large for a number to hold all of them. */
function isSame(time: Date, { timestampNanos }: Position): boolean {
  return Math.abs(time.getTime() - timestampNanos / 1e6) < 2;
}
