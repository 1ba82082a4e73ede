import type { Scenario } from '../scenario';

const DELAY_MS = 250;

export const slowLinks: Scenario = {
  name: 'slow-links',
  shows:
    'every message of actor, env and learner takes a quarter of a second longer each way: the run is slower, and that is all',
  fleet: { proxied: ['actor', 'env', 'learner'] },
  async play(lab) {
    for (const name of ['actor', 'env', 'learner'] as const) lab.fleet.proxyOf(name).delay(DELAY_MS);
    await lab.beginRun('slow');
    await lab.trained(1);
    await lab.trained(4);
    for (const name of ['actor', 'env', 'learner'] as const) lab.fleet.proxyOf(name).heal();
    const failed = lab.log.trajectories.filter(({ status }) => status === 'invalid');
    lab.expect(failed.length === 0, `${failed.length} episodes failed: ${failed[0]?.invalidReason}`);
  },
};
