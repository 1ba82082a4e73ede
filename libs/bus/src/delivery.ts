import type { JsMsg } from '@nats-io/jetstream';
import { DEADLINES, RETRIES, retry } from '@ui-rl/retry';
import type { Broker } from './broker';
import { isStored } from './positions';
import { isTransient } from './retry';

/** What JetStream is told of a message that is handled, and of one that is being handled. */
const [ACKNOWLEDGED, IN_PROGRESS] = ['+ACK', '+WPI'];

/** The message at that place of its stream, stored at that time. */
export function identityOf({ info: { streamSequence, timestampNanos } }: JsMsg): string {
  return `${streamSequence}@${timestampNanos}`;
}

/** A message while it is handled; the broker hears of it as long as it is. */
export class Delivery {
  /** Resolves when the broker came back without the message: nothing of it is waited for then. */
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
      // Both refuse what would be sent.
      if (connection.isClosed() || connection.isDraining()) this.over();
      else connection.publish(this.address, IN_PROGRESS);
    }, ackWaitMs / 3);
  }

  /** Aborts when its handler is to come to an end: the service stops, or the broker came back without the message. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  /** Where the broker hears of it, which the client's type does not tell. */
  private get address(): string {
    return (this.message as JsMsg & { reply: string }).reply;
  }

  /** Has its handler come to an end. */
  end(): void {
    this.ending.abort();
  }

  /** It is handled. */
  over(): void {
    clearInterval(this.heartbeat);
  }

  /**
   * Resolves when the broker knows that it is handled, so that it does not come again, or when the message is lost. It is told again where
   * it does not answer: the server that led the consumer may have died, and the next one knows nothing of the first time. Throws what
   * the last attempt ended with.
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
      // By itself a message says it once and no more.
      onFailure: () => (tell = tellAnother),
    });
  }

  /**
   * Whether the broker means the same message by what would be acknowledged. After it came back on an older copy of its store, the
   * number may be that of a message that was stored since, and acknowledging would lose that one.
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
