import { jetstreamManager } from '@nats-io/jetstream';
import {
  type BusService,
  type Consumption,
  FINAL_PHASES,
  type JetStreamContext,
  type MessageSchema,
} from '@ui-rl/bus';
import {
  ANY,
  EVENTS,
  type RunEvent,
  STREAMS,
  subjects,
  Trajectory,
  type TrainStepEvent,
} from '@ui-rl/contracts';
import { eventually } from '@ui-rl/testkit';

/** All messages of a run in order, each message of a stream once. */
export class RunLog {
  private readonly storedEvents = new StoredMessages<RunEvent>();
  private readonly storedTrajectories = new StoredMessages<Trajectory>();
  private consumptions: Consumption[] = [];

  private constructor(
    readonly runId: string,
    private readonly bus: BusService,
  ) {}

  static async follow(bus: BusService, runId: string): Promise<RunLog> {
    const log = new RunLog(runId, bus);
    const follow = <T>(stream: string, subject: string, into: StoredMessages<T>, schema: MessageSchema<T>) =>
      bus.consume<T>({
        stream,
        durable: durableOf(runId),
        subject,
        schema,
        ackWaitMs: 2_000,
        handle: async (message, context) => into.add(message, context),
      });
    log.consumptions = await Promise.all([
      follow(STREAMS.events, subjects.event(runId, ANY), log.storedEvents, EVENTS),
      follow(STREAMS.trajectories, subjects.trajectory(runId, ANY), log.storedTrajectories, Trajectory),
    ]);
    return log;
  }

  async stop(): Promise<void> {
    await Promise.all(this.consumptions.map((consumption) => consumption.stop()));
  }

  /** Messages as stored: a message that was stored twice appears twice. */
  get trajectories(): Trajectory[] {
    return this.storedTrajectories.inOrder();
  }

  events<T extends RunEvent['type']>(type: T): Extract<RunEvent, { type: T }>[] {
    return this.storedEvents
      .inOrder()
      .filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);
  }

  get steps(): TrainStepEvent[] {
    return this.events('train_step');
  }

  /** Waits until the log contains everything that the broker has stored so far. */
  async catchesUp(timeoutMs = 30_000): Promise<void> {
    const { consumers } = await jetstreamManager(this.bus.connection);
    const hasAll = async (stream: string) => {
      const { num_pending, num_ack_pending } = await consumers.info(stream, durableOf(this.runId));
      return num_pending + num_ack_pending === 0;
    };
    const isThere = async () => (await hasAll(STREAMS.events)) && hasAll(STREAMS.trajectories);
    await eventually(`everything stored of ${this.runId}`, isThere, timeoutMs);
  }

  /** Waits until the log contains the end of the run, and thereby all earlier messages. */
  async ends(timeoutMs = 30_000): Promise<void> {
    const ended = () =>
      this.events('phase').some(({ phase }) => FINAL_PHASES.some((final) => final === phase));
    await eventually(`the end of ${this.runId}`, ended, timeoutMs);
  }
}

const durableOf = (runId: string) => `test-${runId}`;

interface Stored<T> {
  message: T;
  sequence: number;
  storedAt: string;
  id?: string;
}

/**
 * The messages read from a stream. After a broker was killed, the stream may lack its last messages and reuse their
 * sequence numbers.
 */
class StoredMessages<T> {
  private readonly bySequence = new Map<number, Stored<T>>();
  /** Messages that other readers may have received, too. */
  private readonly lost: Stored<T>[] = [];

  add(message: T, { streamSequence: sequence, storedAt, messageId: id }: JetStreamContext): void {
    const before = this.bySequence.get(sequence);
    if (before !== undefined && before.storedAt !== storedAt) this.lost.push(before);
    this.bySequence.set(sequence, { message, sequence, storedAt, id });
  }

  /** Stored messages, and lost ones that were not published again. */
  inOrder(): T[] {
    const stored = [...this.bySequence.values()];
    const ids = new Set(stored.map(({ id }) => id));
    const gone = this.lost.filter(({ id }) => !ids.has(id));
    return [...gone, ...stored].toSorted((a, b) => a.sequence - b.sequence).map(({ message }) => message);
  }
}
