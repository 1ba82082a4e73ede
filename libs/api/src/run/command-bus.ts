import { BusError, BusService } from '@ui-rl/bus';
import { DEADLINES } from '@ui-rl/retry';
import type { CliSettings, NatsSettings } from '@ui-rl/settings';

/**
 * Connects a command to the broker of its services. If there is no broker, it rejects early and explains how to start
 * one, because a person is waiting.
 */
export async function connectCommand(
  { nats, hasBroker }: Pick<CliSettings, 'nats' | 'hasBroker'>,
  signal?: AbortSignal,
): Promise<BusService> {
  try {
    return await BusService.connect({ ...nats, signal, connectWithinMs: DEADLINES.brokerOfCommand.ms });
  } catch (cause) {
    if (!(cause instanceof BusError) || cause.category !== 'unavailable') throw cause;
    const start = hasBroker
      ? 'start the one that NATS_URL or NATS_CONTEXT names, or unset them and start one on this machine'
      : 'start one';
    throw new Error(`${cause.message}; ${start}: npx ui-rl up`, { cause });
  }
}

/** The environment variable with which another command finds the same broker; contains no secret. */
export function brokerVariable({ contextFile, servers }: NatsSettings): string {
  return contextFile === undefined
    ? `NATS_URL=${servers.map((server) => server.replace(/\/\/[^/@]*@/, '//')).join(',')}`
    : `NATS_CONTEXT=${contextFile}`;
}
