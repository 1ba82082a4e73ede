import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../scenario';

/** Longer than a run's lease, and than the acknowledgement wait of an actor's message. */
const CUT_OFF_MS = 20_000;

export const partition: Scenario = {
  name: 'partition',
  shows:
    'an actor, then the learner, is cut off from the broker for 20 s and comes back with what it had sent: others take over, nothing is doubled',
  fleet: { copies: 2, proxied: ['actor', 'learner'] },
  async play(lab) {
    await lab.beginRun('partition');
    for (const [place, name] of (['actor', 'learner'] as const).entries()) {
      await lab.trained(place + 1);
      await lab.playing(1);
      const proxy = lab.fleet.proxyOf(name);
      proxy.stall(true);
      await delay(CUT_OFF_MS);
      proxy.stall(false);
    }
  },
};
