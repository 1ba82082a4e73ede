import type { BusService } from '@ui-rl/bus';
import { eventually } from './processes';

interface ConsumerInfo {
  num_pending: number;
  num_ack_pending: number;
}

/**
 * Waits until a durable consumer has handled all messages: the stream is empty and nothing is unacknowledged. If an
 * acknowledgement was lost with the broker, this takes the consumer's acknowledgement wait.
 */
export async function drained(
  bus: BusService,
  stream: string,
  durable: string,
  timeoutMs?: number,
): Promise<void> {
  const handled = async () => {
    const reply = await bus.connection.request(`$JS.API.CONSUMER.INFO.${stream}.${durable}`, '');
    const { num_pending: waiting, num_ack_pending: unacknowledged } = reply.json<ConsumerInfo>();
    return waiting === 0 && unacknowledged === 0;
  };
  await eventually(`${durable} to have handled all of ${stream}`, handled, timeoutMs);
}
