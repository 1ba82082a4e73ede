import { SERVICES } from '../../e2e/support/fleet';
import type { Scenario } from '../scenario';

const HOUR_MS = 3_600_000;

export const clockJumps: Scenario = {
  name: 'clock-jumps',
  shows:
    "services' clocks are set in the middle, those of three forward by two hours, of the others back, then the other way: the run's minutes, its deadlines and its episodes are as they were",
  async play(lab) {
    await lab.beginRun('clocks', { max_minutes: 60 });
    const directions = [1, -1];
    for (const [index, direction] of directions.entries()) {
      await lab.trained(index + 1);
      await lab.playing(1);
      SERVICES.forEach((name, place) => {
        const sign = place % 2 === 0 ? direction : -direction;
        lab.host.setClock(name, 2 * sign * HOUR_MS);
      });
    }
    await lab.trained(4);
    for (const name of SERVICES) lab.host.setClock(name, 0);
    const failed = lab.log.trajectories.filter(({ status }) => status === 'invalid');
    lab.expect(failed.length === 0, `${failed.length} episodes failed: ${failed[0]?.invalidReason}`);
  },
};
