import type { BusService, JetStreamContext } from '@ui-rl/bus';
import { ANY, EVENTS, STREAMS, subjects, Trajectory, type RunEvent } from '@ui-rl/contracts';
import type { RunObserver } from './run-observer';

/**
 * Passes every event and trajectory of a run to an observer, from the beginning and each exactly once. Returns a
 * function that stops the observation and removes its consumers at the broker.
 */
export async function followRun(
  bus: BusService,
  runId: string,
  observer: RunObserver,
  onEvent: (event: RunEvent) => void = () => undefined,
): Promise<() => Promise<void>> {
  const durable = (what: string) => `cli-${bus.instance}-${what}`;
  const isNew = once();
  const events = await bus.consume<RunEvent>({
    stream: STREAMS.events,
    durable: durable('events'),
    temporary: true,
    subject: subjects.event(runId, ANY),
    schema: EVENTS,
    handle: async (event, context) => {
      if (!isNew(context)) return;
      observer.onEvent(event);
      onEvent(event);
    },
  });
  const trajectories = await bus.consume<Trajectory>({
    stream: STREAMS.trajectories,
    durable: durable('trajectories'),
    temporary: true,
    subject: subjects.trajectory(runId, ANY),
    schema: Trajectory,
    concurrency: 4,
    handle: async (trajectory, context) => {
      if (isNew(context)) observer.onTrajectory(trajectory);
    },
  });
  return async () => {
    await Promise.all([events.stop(), trajectories.stop()]);
  };
}

/**
 * Whether a message arrives for the first time: after a long pause, or with a restored broker store, all are
 * delivered again.
 */
function once(): (context: JetStreamContext) => boolean {
  const seen = new Set<string>();
  return ({ stream, messageId, streamSequence, storedAt }) => {
    const identity = messageId ?? `${stream}.${streamSequence}.${storedAt}`;
    if (seen.has(identity)) return false;
    seen.add(identity);
    return true;
  };
}
