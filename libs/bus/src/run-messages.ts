import type { ConsumerInfo } from '@nats-io/jetstream';
import { runOfSubject, STREAMS, subjects, ANY } from '@ui-rl/contracts';
import type { Broker } from './broker';

/** Streams whose messages belong to runs, with the filter for the messages of one run. */
export const MESSAGES_OF_RUN: readonly { stream: string; filterOf: (runId: string) => string }[] = [
  { stream: STREAMS.tasks, filterOf: (runId) => subjects.task(runId) },
  { stream: STREAMS.rollouts, filterOf: (runId) => subjects.rollout(runId, ANY) },
  { stream: STREAMS.trajectories, filterOf: (runId) => subjects.trajectory(runId, ANY) },
  { stream: STREAMS.events, filterOf: (runId) => subjects.event(runId, ANY) },
  { stream: STREAMS.blobs, filterOf: (runId) => subjects.blob(runId, ANY, ANY) },
];

/** Number of messages by subject. */
export async function countBySubject(
  broker: Broker,
  stream: string,
  filter: string,
): Promise<Map<string, number>> {
  const { state } = await broker.jsm.streams.info(stream, { subjects_filter: filter });
  return new Map(Object.entries(state.subjects ?? {}));
}

export async function consumersOf(broker: Broker, stream: string): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = [];
  for await (const consumer of broker.jsm.consumers.list(stream)) found.push(consumer);
  return found;
}

/** The run to which a consumer is limited; null if it reads several. */
export function runOfConsumer({ config }: ConsumerInfo): string | null {
  return runOfSubject(config.filter_subject ?? '');
}
