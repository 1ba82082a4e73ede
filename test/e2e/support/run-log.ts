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

/** Everything a run has published, in order, each message of a stream once. */
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

  /** Messages as the stream holds them: what was stored twice is in here twice. */
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

  /** Waits until the log has all that is stored, as the broker tells. What is published meanwhile may be missing. */
  async catchesUp(timeoutMs = 30_000): Promise<void> {
    const { consumers } = await jetstreamManager(this.bus.connection);
    const hasAll = async (stream: string) => {
      const { num_pending, num_ack_pending } = await consumers.info(stream, durableOf(this.runId));
      return num_pending + num_ack_pending === 0;
    };
    const isThere = async () => (await hasAll(STREAMS.events)) && hasAll(STREAMS.trajectories);
    await eventually(`everything stored of ${this.runId}`, isThere, timeoutMs);
  }

  /** Waits until the log has the end of the run, and with it everything that came before. */
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

/** What was read of a stream, which may lose its last messages when its broker is killed and number others as it had numbered them. */
class StoredMessages<T> {
  private readonly bySequence = new Map<number, Stored<T>>();
  /** Others have read them, too. */
  private readonly lost: Stored<T>[] = [];

  add(message: T, { streamSequence: sequence, storedAt, messageId: id }: JetStreamContext): void {
    const before = this.bySequence.get(sequence);
    if (before !== undefined && before.storedAt !== storedAt) this.lost.push(before);
    this.bySequence.set(sequence, { message, sequence, storedAt, id });
  }

  /** As the stream holds them, and those that it lost and that nobody published again. */
  inOrder(): T[] {
    const stored = [...this.bySequence.values()];
    const ids = new Set(stored.map(({ id }) => id));
    const gone = this.lost.filter(({ id }) => !ids.has(id));
    return [...gone, ...stored].toSorted((a, b) => a.sequence - b.sequence).map(({ message }) => message);
  }
}
