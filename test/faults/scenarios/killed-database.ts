import type { Scenario } from '../scenario';

export const killedDatabase: Scenario = {
  name: 'killed-database',
  shows:
    'PostgreSQL is killed (SIGKILL) while a run is recorded, and started again two steps later: training continues meanwhile, and the records have all of it',
  async play(lab) {
    const { postgres } = lab.fleet;
    if (postgres === null) throw new Error('this scenario needs a fleet with its own PostgreSQL');
    await lab.beginRun('killed-database');
    await lab.trained(1);
    await postgres.kill();
    await lab.trained(3);
    await postgres.launch();
  },
};
