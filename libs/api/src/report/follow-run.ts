import type { BusService } from '@ui-rl/bus';
import { ANY, EVENTS, STREAMS, subjects, Trajectory, type RunEvent } from '@ui-rl/contracts';
import type { RunObserver } from './run-observer';

/** Feeds an observer with every event and trajectory of a run, from its beginning; returns a function that stops it. */
export async function followRun(
  bus: BusService,
  runId: string,
  observer: RunObserver,
  onEvent: (event: RunEvent) => void = () => undefined,
): Promise<() => Promise<void>> {
  const durable = (what: string) => `cli-${bus.instance}-${what}`;
  const events = await bus.consume<RunEvent>({
    stream: STREAMS.events,
    durable: durable('events'),
    subject: subjects.event(runId, ANY),
    schema: EVENTS,
    handle: async (event) => {
      observer.onEvent(event);
      onEvent(event);
    },
  });
  const trajectories = await bus.consume<Trajectory>({
    stream: STREAMS.trajectories,
    durable: durable('trajectories'),
    subject: subjects.trajectory(runId, ANY),
    schema: Trajectory,
    concurrency: 4,
    handle: async (trajectory) => observer.onTrajectory(trajectory),
  });
  return async () => {
    await Promise.all([events.stop(), trajectories.stop()]);
  };
}
