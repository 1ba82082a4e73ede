import { type ClusterInfo, jetstreamManager } from '@nats-io/jetstream';
import { STREAMS } from '@ui-rl/contracts';
import { API_PREFIX } from '@ui-rl/bus';
import type { FaultLab, Scenario } from '../scenario';

/** Two steps pass during each outage, and many while a server catches up. */
const STEPS = 60;
/** Time limit for a returning server to catch up. */
const CATCHES_UP_MS = 60_000;

export const natsCluster: Scenario = {
  name: 'nats-cluster',
  shows:
    'three brokers keep the same data, with the users of deploy/nats; each is killed in turn in the middle of a step, which ends without it, and comes back',
  fleet: { cluster: true },
  async play(lab) {
    const { fleet } = lab;
    const log = await lab.beginRun('cluster', {}, STEPS);
    for (const node of fleet.cluster.nodes) {
      await lab.playing(1);
      const before = log.steps.length;
      await node.kill();
      // One step may have finished before the outage, the next has not.
      await lab.trained(before + 2);
      await node.launch();
      // Three servers tolerate one outage. Killing another before the first has caught up means two.
      await caughtUp(lab);
    }
  },
};

/** Waits until all three brokers are up to date for every stream and durable consumer. */
async function caughtUp(lab: FaultLab): Promise<void> {
  const { fleet } = lab;
  let behind: string[] = [];
  const complete = async (): Promise<boolean> => (behind = await notCurrent(lab)).length === 0;
  await fleet.until('three copies of everything', complete, CATCHES_UP_MS, 500).catch(() => undefined);
  lab.expect(behind.length === 0, `not all of three copies are up to date of ${behind.join(', ')}`);
}

/** Streams and durable consumers for which not all three servers are up to date. */
async function notCurrent({ fleet }: FaultLab): Promise<string[]> {
  const manager = await jetstreamManager(fleet.bus.connection, { apiPrefix: API_PREFIX, checkAPI: false });
  const behind: string[] = [];
  for (const stream of Object.values(STREAMS)) {
    if (!isCurrent((await manager.streams.info(stream)).cluster)) behind.push(stream);
    for await (const { name, config, cluster } of manager.consumers.list(stream)) {
      if (config.durable_name !== undefined && !isCurrent(cluster)) behind.push(`${stream} > ${name}`);
    }
  }
  return behind;
}

function isCurrent(cluster: ClusterInfo | undefined): boolean {
  const others = cluster?.replicas?.filter(({ current, offline }) => current && offline !== true) ?? [];
  return cluster?.leader !== undefined && others.length === 2;
}
