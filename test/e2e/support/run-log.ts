import { type BusService, type Consumption, FINAL_PHASES, type MessageSchema } from '@ui-rl/bus';
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
  private readonly storedEvents = new Map<number, RunEvent>();
  private readonly storedTrajectories = new Map<number, Trajectory>();
  private consumptions: Consumption[] = [];

  private constructor(readonly runId: string) {}

  static async follow(bus: BusService, runId: string): Promise<RunLog> {
    const log = new RunLog(runId);
    const follow = <T>(stream: string, subject: string, into: Map<number, T>, schema: MessageSchema<T>) =>
      bus.consume<T>({
        stream,
        durable: `test-${runId}`,
        subject,
        schema,
        ackWaitMs: 2_000,
        handle: async (message, { streamSequence }) => void into.set(streamSequence, message),
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
    return inOrder(this.storedTrajectories);
  }

  events<T extends RunEvent['type']>(type: T): Extract<RunEvent, { type: T }>[] {
    return inOrder(this.storedEvents).filter(
      (event): event is Extract<RunEvent, { type: T }> => event.type === type,
    );
  }

  get steps(): TrainStepEvent[] {
    return this.events('train_step');
  }

  /** Waits until the log has the end of the run, and with it everything that came before. */
  async ends(timeoutMs = 30_000): Promise<void> {
    const ended = () =>
      this.events('phase').some(({ phase }) => FINAL_PHASES.some((final) => final === phase));
    await eventually(`the end of ${this.runId}`, ended, timeoutMs);
  }
}

function inOrder<T>(stored: Map<number, T>): T[] {
  return [...stored.entries()].sort(([a], [b]) => a - b).map(([, message]) => message);
}
