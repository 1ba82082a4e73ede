import { BUCKETS, runOfSubject } from '@ui-rl/contracts';
import type { Broker } from './broker';
import type { KvBucket } from './kv';
import { measures } from './measures';
import { operationOf } from './operations';
import type { Publisher } from './publisher';

/** An entry of the `dead_letters` bucket: a message that could not be handled. */
export interface DeadLetter {
  /** Starts with the service's name: a service can write only its own entries. */
  key: string;
  /** ISO 8601. */
  at: string;
  service: string;
  subject: string;
  reason: string;
  /** The message as text if it is text, else base64. */
  payload: string;
  encoding: 'utf8' | 'base64';
  /**
   * Size of the whole message; `payload` holds at most its first 64 KiB, or less if the broker's message limit is
   * small.
   */
  sizeBytes: number;
}

const KEPT_BYTES = 64 * 1024;
/**
 * Unreadable messages per operation that a service stores within a day, so that a flood of them does not displace
 * other entries.
 */
const MAX_UNREADABLE = 100;
const DAY_MS = 86_400_000;

/** Stores messages that could not be handled for an operator to inspect. */
export class DeadLetters {
  /** Operation → number of unreadable messages since a time in Unix milliseconds. */
  private readonly unreadable = new Map<string, { since: number; count: number }>();

  constructor(
    private readonly broker: Broker,
    private readonly publisher: Publisher,
    private readonly bucket: KvBucket,
  ) {}

  /** Stores a message that fails its validation. Beyond the limit, it only counts them. */
  async putUnreadable(
    message: { key: string; subject: string; reason: string },
    payload: Uint8Array,
  ): Promise<void> {
    const { service, logger } = this.broker;
    const operation = operationOf(message.subject);
    const count = this.counted(operation);
    if (count <= MAX_UNREADABLE) return this.put(message, payload);
    measures.deadLetter(service);
    if (count === MAX_UNREADABLE + 1)
      logger.error(
        `${MAX_UNREADABLE} messages of ${operation} could not be read; further ones of this day are not stored`,
      );
  }

  private counted(operation: string): number {
    const known = this.unreadable.get(operation);
    const isOld = known === undefined || Date.now() - known.since > DAY_MS;
    const { since, count } = isOld ? { since: Date.now(), count: 0 } : known;
    this.unreadable.set(operation, { since, count: count + 1 });
    return count + 1;
  }

  /** Stores a message with the reason, and publishes it as an event of its run. */
  async put(message: { key: string; subject: string; reason: string }, payload: Uint8Array): Promise<void> {
    const { service, logger } = this.broker;
    // JSON encodes a byte in at most six.
    const keptBytes = Math.min(KEPT_BYTES, Math.floor(this.broker.maxMessageBytes / 8));
    const letter = toDeadLetter({ ...message, service }, payload, keptBytes);
    await this.bucket.put(letter.key, letter);
    measures.deadLetter(service);
    const { subject, key, reason } = letter;
    logger.error(`dead letter from ${subject}: ${reason}. See it with: ${readCommand(key)}`);
    const runId = runOfSubject(subject);
    if (runId === null) return;
    await this.publisher.event({ type: 'dead_letter', runId, service, subject, key, reason }, key);
  }
}

function toDeadLetter(
  message: { key: string; service: string; subject: string; reason: string },
  payload: Uint8Array,
  keptBytes: number,
): DeadLetter {
  const kept = Buffer.from(payload.subarray(0, keptBytes));
  const text = kept.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(kept);
  return {
    key: `${message.service}.${message.key}`,
    at: new Date().toISOString(),
    service: message.service,
    subject: message.subject,
    reason: message.reason,
    payload: isText ? text : kept.toString('base64'),
    encoding: isText ? 'utf8' : 'base64',
    sizeBytes: payload.byteLength,
  };
}

function readCommand(key: string): string {
  return `nats kv get ${BUCKETS.deadLetters} ${key}`;
}
