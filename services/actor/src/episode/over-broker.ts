import type { BusService } from '@ui-rl/bus';
import type { RolloutContext } from '@ui-rl/episode';
import { EnvironmentClient } from './environment';
import { LearnerPolicy } from './policy';
import { TIMEOUTS, type Timeouts } from './timeouts';

/** Connects a run's episodes to environments, policy and screenshots through the broker. */
export function overBroker(
  bus: BusService,
  runId: string,
  timeouts: Timeouts = TIMEOUTS,
): Pick<RolloutContext, 'open' | 'policy' | 'screenshots' | 'restarts' | 'warn'> {
  return {
    open: (request, clock) => EnvironmentClient.open(bus, request, clock, timeouts),
    policy: new LearnerPolicy(bus, runId, timeouts),
    screenshots: bus.blobs.of(runId),
    restarts: timeouts.restarts,
    warn: (message) => bus.logger.warn(message),
  };
}
