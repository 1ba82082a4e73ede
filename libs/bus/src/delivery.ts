import type { JsMsg } from '@nats-io/jetstream';
import type { Broker } from './broker';
import { isStored } from './positions';

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
      if (broker.connection.isClosed()) this.over();
      else message.working();
    }, ackWaitMs / 3);
  }

  /** Aborts when its handler is to come to an end: the service stops, or the broker came back without the message. */
  get signal(): AbortSignal {
    return this.ending.signal;
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
