import { BUCKETS, isRunId } from '@ui-rl/contracts';
import type { Broker } from './broker';
import type { KvBucket } from './kv';

/** What the `dead_letters` bucket holds for each message that could not be handled. */
export interface DeadLetter {
  key: string;
  /** ISO 8601. */
  at: string;
  service: string;
  subject: string;
  reason: string;
  /** The message as text where it is text, else base64. */
  payload: string;
  encoding: 'utf8' | 'base64';
  /** Bytes of the whole message; `payload` holds at most the first 64 KiB of them. */
  sizeBytes: number;
}

const KEPT_BYTES = 64 * 1024;

/** Where messages go that cannot be handled, so that a person finds them. */
export class DeadLetters {
  constructor(
    private readonly broker: Broker,
    private readonly bucket: KvBucket,
  ) {}

  /** Stores a message with the reason, and publishes it as an event of its run. */
  async put(message: { key: string; subject: string; reason: string }, payload: Uint8Array): Promise<void> {
    const { service, logger } = this.broker;
    const letter = toDeadLetter({ ...message, service }, payload);
    await this.bucket.put(letter.key, letter);
    const { subject, key, reason } = letter;
    logger.error(`dead letter from ${subject}: ${reason}. See it with: ${readCommand(key)}`);
    const runId = runOfSubject(subject);
    if (runId === null || !isRunId(runId)) return;
    await this.broker.event({ type: 'dead_letter', runId, service, subject, key, reason }, key);
  }
}

function toDeadLetter(
  message: { key: string; service: string; subject: string; reason: string },
  payload: Uint8Array,
): DeadLetter {
  const kept = Buffer.from(payload.subarray(0, KEPT_BYTES));
  const text = kept.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(kept);
  return {
    key: message.key,
    at: new Date().toISOString(),
    service: message.service,
    subject: message.subject,
    reason: message.reason,
    payload: isText ? text : kept.toString('base64'),
    encoding: isText ? 'utf8' : 'base64',
    sizeBytes: payload.byteLength,
  };
}

/** Run id of a subject (`uirl.<what>.<run>…`), or null where it names none. */
function runOfSubject(subject: string): string | null {
  const [root, what, run] = subject.split('.');
  if (root !== 'uirl' || what === undefined || run === undefined) return null;
  return ['task', 'rollout', 'trajectory', 'event', 'policy'].includes(what) ? run : null;
}

function readCommand(key: string): string {
  return `nats kv get ${BUCKETS.deadLetters} ${key}`;
}
