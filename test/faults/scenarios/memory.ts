import { SERVICES } from '../../e2e/support/fleet';
import type { Scenario } from '../scenario';

export const memory: Scenario = {
  name: 'memory',
  shows:
    'each service uses up its memory in turn, slows down, and is ended by its limit in the middle of what it does',
  async play(lab) {
    const { fleet, host } = lab;
    await lab.beginRun('memory');
    await lab.trained(1);
    for (const name of SERVICES) {
      const before = fleet.unexpectedEnds.length;
      host.useUpMemory(name);
      await fleet.until(`the end of the ${name}`, () => fleet.unexpectedEnds.length > before, 120_000);
    }
    const ends = fleet.unexpectedEnds.splice(0);
    const others = ends.filter((end) => !/heap out of memory/i.test(end));
    lab.expect(others.length === 0, `ended by something else: ${others.join('\n')}`);
  },
};
