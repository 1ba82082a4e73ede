import { setTimeout as delay } from 'node:timers/promises';
import { type Member, SERVICES } from '../../e2e/support/fleet';
import type { Scenario } from '../scenario';

/** Longer than a lease and than every acknowledgement wait. */
const SLEEP_MS = 17_000;

export const twoOfEverything: Scenario = {
  name: 'two-of-everything',
  shows:
    'two processes of each service work for one run, one of each sleeps for 17 s in the middle and wakes: nothing is doubled',
  fleet: { copies: 2 },
  async play(lab) {
    const { fleet } = lab;
    await lab.beginRun('two');
    await lab.trained(1);
    await lab.playing(1);
    // The learner that is training.
    const trains = (member: Member): boolean => fleet.output(member).includes('serving the policy of run');
    const sleepers = SERVICES.map((name): Member =>
      name === 'learner' && trains('learner-2') ? 'learner-2' : name,
    );
    for (const member of sleepers) fleet.suspend(member);
    const asleep = lab.log.steps.length;
    await delay(SLEEP_MS);
    for (const member of sleepers) fleet.wake(member);
    await fleet.until(
      'a step of those that were awake, or woke',
      () => lab.log.steps.length > asleep,
      120_000,
    );
  },
};
