import { AckPolicy, jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { DEADLINES } from '@ui-rl/retry';

/** Messages of one size. */
export interface Traffic {
  messages: number;
  bytes: number;
}

/** The traffic of a broker: stored in streams, and not stored. */
export interface BrokerLoad {
  stored: Traffic;
  passed: Traffic;
}

export interface BareResult {
  seconds: number;
  messages: number;
  bytes: number;
}

const STREAM = 'BARE';
const SUBJECTS = { stored: 'bare.stored', passed: 'bare.passed' };
/** Messages published before waiting for the broker's reply to the first one. */
const WINDOW = 256;

/**
 * Publishes and reads the given messages with only NATS' own client: two connections, one that publishes and one that
 * reads; stored messages are published with the broker's acknowledgement, and read and acknowledged by one consumer.
 */
export async function playBare(url: string, { stored, passed }: BrokerLoad): Promise<BareResult> {
  const [writer, reader] = await Promise.all([connect({ servers: url }), connect({ servers: url })]);
  const jsm = await jetstreamManager(writer);
  await jsm.streams.delete(STREAM).catch(() => undefined);
  await jsm.streams.add({ name: STREAM, subjects: [SUBJECTS.stored], storage: StorageType.File });
  try {
    const began = performance.now();
    await Promise.all([
      passThrough(writer, reader, passed),
      readStored(reader, stored.messages),
      publishStored(writer, stored),
    ]);
    return {
      seconds: (performance.now() - began) / 1000,
      messages: stored.messages + passed.messages,
      bytes: stored.bytes + passed.bytes,
    };
  } finally {
    await jsm.streams.delete(STREAM).catch(() => undefined);
    await Promise.all([writer.close(), reader.close()]);
  }
}

function payloadOf({ messages, bytes }: Traffic): Uint8Array {
  return new Uint8Array(messages === 0 ? 0 : Math.max(1, Math.round(bytes / messages)));
}

/** Each window of messages is read before the next is sent, so that the broker does not disconnect a slow reader. */
async function passThrough(writer: NatsConnection, reader: NatsConnection, passed: Traffic): Promise<void> {
  let read = 0;
  const subscription = reader.subscribe(SUBJECTS.passed, { callback: () => void (read += 1) });
  await reader.flush();
  const payload = payloadOf(passed);
  for (let sent = 0; sent < passed.messages; sent += WINDOW) {
    const count = Math.min(WINDOW, passed.messages - sent);
    for (let each = 0; each < count; each += 1) writer.publish(SUBJECTS.passed, payload);
    await writer.flush();
    await reader.flush();
  }
  subscription.unsubscribe();
  if (read < passed.messages) throw new Error(`${read} of ${passed.messages} messages came in`);
}

async function publishStored(writer: NatsConnection, stored: Traffic): Promise<void> {
  const js = jetstream(writer, { timeout: DEADLINES.message.ms });
  const payload = payloadOf(stored);
  for (let sent = 0; sent < stored.messages; sent += WINDOW) {
    const count = Math.min(WINDOW, stored.messages - sent);
    await Promise.all(Array.from({ length: count }, () => js.publish(SUBJECTS.stored, payload)));
  }
}

async function readStored(reader: NatsConnection, messages: number): Promise<void> {
  if (messages === 0) return;
  const jsm = await jetstreamManager(reader);
  await jsm.consumers.add(STREAM, { durable_name: 'bare', ack_policy: AckPolicy.Explicit });
  const consumer = await jetstream(reader).consumers.get(STREAM, 'bare');
  const incoming = await consumer.consume({ max_messages: WINDOW });
  let read = 0;
  for await (const message of incoming) {
    message.ack();
    read += 1;
    if (read === messages) break;
  }
  await incoming.close();
  await reader.flush();
}
