import type { RunEvent } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';
import type { NatsSettings } from '@ui-rl/settings';
import { brokerVariable } from './command-bus';

/** Detects a run that no service has joined. */
export interface MissingServices {
  /** Call this with every event of the run. */
  onEvent(event: RunEvent): void;
  stop(): void;
}

/** Warns once if no service joins a run that was announced to a broker: a broker may run without services. */
export function missingServices(
  nats: NatsSettings,
  onWarning: (message: string) => void,
  withinMs: number = DEADLINES.servicesOfRun.ms,
): MissingServices {
  const warn = () =>
    onWarning(
      `no service has taken up the run after ${withinMs / 1000} s; start them: ${brokerVariable(nats)} npx ui-rl up`,
    );
  const timer = setTimeout(warn, withinMs);
  const stop = () => clearTimeout(timer);
  return { onEvent: ({ type }) => (type === 'service_ready' ? stop() : undefined), stop };
}
