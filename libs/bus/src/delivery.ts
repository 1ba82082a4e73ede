import type { JsMsg } from '@nats-io/jetstream';
import { DEADLINES, RETRIES, retry } from '@ui-rl/retry';
import type { Broker } from './broker';
import { isStored } from './positions';
import { isTransient } from './retry';

/** JetStream's acknowledgement and progress replies. */
const [ACKNOWLEDGED, IN_PROGRESS] = ['+ACK', '+WPI'];

/** Identifies a message by its position in the stream and its storage time. */
export function identityOf({ info: { streamSequence, timestampNanos } }: JsMsg): string {
  return `${streamSequence}@${timestampNanos}`;
}

/** A message in progress; sends heartbeats to the broker meanwhile. */
export class Delivery {
  /** Resolves when the broker has lost the message; waiting for it is then pointless. */
  readonly lost: Promise<void>;
  private readonly ending = new AbortController();
  private readonly generation: number;
  private readonly heartbeat: NodeJS.Timeout;
  private isLost = false;
  private lose: () => void = () => undefined;

  constructor(
    private readonly broker: Broker,
    readonly message: JsMsg,
    ackWaitMs: number,
  ) {
    this.generation = broker.generation;
    this.lost = new Promise((resolve) => (this.lose = resolve));
    this.heartbeat = setInterval(() => {
      const { connection } = broker;
      // A closed or draining connection rejects further messages.
      if (connection.isClosed() || connection.isDraining()) this.over();
      else connection.publish(this.address, IN_PROGRESS);
    }, ackWaitMs / 3);
  }

  /** Aborts when the handler should stop: the service stops, or the broker has lost the message. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** The reply subject, which the client's type does not expose. */
  private get address(): string {
    return (this.message as JsMsg & { reply: string }).reply;
  }

  /** Asks the handler to stop. */
  end(): void {
    this.ending.abort();
  }

  /** Ends the heartbeats. */
  over(): void {
    clearInterval(this.heartbeat);
  }

  /**
   * Resolves when the broker has confirmed the acknowledgement, so that the message is not redelivered, or when the
   * message is lost. Repeats it without a confirmation: the server that led the consumer may have died before its
   * successor learned of it. Throws the error of the last attempt.
   */
  async acknowledge(): Promise<void> {
    const { broker, message } = this;
    let tell: () => Promise<unknown> = () => message.ackAck();
    const tellAnother = () =>
      broker.connection.request(this.address, ACKNOWLEDGED, { timeout: DEADLINES.publish.ms });
    const acknowledge = async () => {
      if (await this.isOurs()) await tell();
    };
    await retry(RETRIES.acknowledgement, acknowledge, {
      ...{ isTransient, signal: broker.closing },
      // A message object acknowledges only once.
      onFailure: () => (tell = tellAnother),
    });
  }

  /**
   * Whether the broker's message at this position is still ours. If the broker returned with an older copy of its
   * store, the position may hold a newer message, and acknowledging it would lose that one.
   */
  async isOurs(): Promise<boolean> {
    await this.broker.whenConnected();
    if (this.isLost || this.broker.generation === this.generation) return !this.isLost;
    const { streamSequence: sequence, timestampNanos, stream } = this.message.info;
    if (await isStored(this.broker, stream, { sequence, timestampNanos })) return true;
    this.isLost = true;
    this.over();
    this.end();
    this.lose();
    return false;
  }
}
