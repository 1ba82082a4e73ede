import { jetstreamManager } from '@nats-io/jetstream';
import { STREAMS } from '@ui-rl/contracts';
import { API_PREFIX } from '@ui-rl/bus';
import type { FaultLab, Scenario } from '../scenario';

/** For a server that came back to have what it missed. */
const CATCHES_UP_MS = 60_000;

export const natsCluster: Scenario = {
  name: 'nats-cluster',
  shows:
    'three brokers keep the same data, with the users of deploy/nats; each is killed in turn in the middle of a step, which ends without it, and comes back',
  fleet: { cluster: true },
  async play(lab) {
    const { fleet } = lab;
    await lab.beginRun('cluster');
    for (const [place, node] of fleet.cluster.nodes.entries()) {
      await lab.trained(place);
      await lab.playing(1);
      await node.kill();
      await lab.trained(place + 1);
      await node.launch();
    }
    for (const stream of Object.values(STREAMS)) {
      let copies = 0;
      const complete = async (): Promise<boolean> => (copies = await currentCopies(lab, stream)) === 3;
      await fleet.until(`three copies of ${stream}`, complete, CATCHES_UP_MS, 500).catch(() => undefined);
      lab.expect(copies === 3, `${stream} has ${copies} copies that are up to date, expected 3`);
    }
  },
};

/** How many servers have all of a stream. */
async function currentCopies({ fleet }: FaultLab, stream: string): Promise<number> {
  const manager = await jetstreamManager(fleet.bus.connection, { apiPrefix: API_PREFIX, checkAPI: false });
  const { cluster } = await manager.streams.info(stream);
  const others = cluster?.replicas?.filter(({ current, offline }) => current && offline !== true) ?? [];
  return (cluster?.leader === undefined ? 0 : 1) + others.length;
}
