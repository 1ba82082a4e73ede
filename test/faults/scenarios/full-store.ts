import { setTimeout as delay } from 'node:timers/promises';
import { jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import type { TestFleet } from '../../e2e/support/fleet';
import type { Scenario } from '../scenario';

const FILLER = 'FILLER';
const BLOCK = Buffer.alloc(256 * 1024);
const FULL_MS = 15_000;

export const fullStore: Scenario = {
  name: 'full-store',
  shows:
    "the broker's storage limit is reached: every service says that it waits for space, and the run continues when there is some",
  fleet: { broker: { storeLimitMb: 64 } },
  async play(lab) {
    const { fleet } = lab;
    await lab.beginRun('full-store');
    await lab.trained(1);
    await fillStore(fleet);
    const waits = () => /cannot .* trying again: .*(resources|storage)/i.test(fleet.output('learner'));
    await fleet.until('a learner that says what it waits for', waits, 120_000);
    const { length } = lab.log.steps;
    await delay(FULL_MS);
    lab.expect(lab.log.steps.length === length, 'a step was announced without room for it');
    await (await jetstreamManager(fleet.bus.connection)).streams.delete(FILLER);
  },
};

/** Uses up the broker's storage limit. */
async function fillStore(fleet: TestFleet): Promise<void> {
  const manager = await jetstreamManager(fleet.bus.connection);
  await manager.streams.add({ name: FILLER, subjects: ['filler'], retention: RetentionPolicy.Limits });
  for (let size = BLOCK.length; size >= 64; size = Math.floor(size / 4)) {
    try {
      for (;;) await jetstream(fleet.bus.connection).publish('filler', BLOCK.subarray(0, size));
    } catch {
      // Smaller messages may still fit.
    }
  }
}
