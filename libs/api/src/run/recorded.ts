import type { BusService } from '@ui-rl/bus';
import { STREAMS } from '@ui-rl/contracts';
import { DEADLINES, sleep } from '@ui-rl/retry';

/** Durable consumers of the monitor. */
const CONSUMERS = [
  [STREAMS.trajectories, 'monitor-trajectories'],
  [STREAMS.events, 'monitor-events'],
] as const;

/**
 * Waits until the monitor has recorded every message of a private broker, which stops with its run.
 * @returns whether it has
 */
export async function allRecorded(bus: BusService, signal?: AbortSignal): Promise<boolean> {
  const { ms } = DEADLINES.recorded;
  for (const until = performance.now() + ms; performance.now() < until; await sleep(100, signal)) {
    const backlogs = await Promise.all(CONSUMERS.map(([stream, durable]) => bus.backlog(stream, durable)));
    if (backlogs.every((each) => each !== null && each.waiting + each.unacknowledged === 0)) return true;
  }
  return false;
}
