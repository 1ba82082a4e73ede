import { setTimeout as sleep } from 'node:timers/promises';
import { migrate, openDatabase, record } from '../src';
import { trajectory } from './bed';

/** Records episodes of one run until it is killed; prints the id of each once it is committed. */
async function write(dataDir: string, runId: string): Promise<void> {
  const { dataSource } = await openDatabase({ kind: 'pglite', dataDir });
  await migrate(dataSource);
  for (let count = 0; ; count += 1) {
    const id = `${runId}-${count}`;
    const episode = trajectory(id, { actor: runId });
    episode.request.runId = runId;
    // Another process may have had the database, and have ended.
    while (!(await isRecorded(() => record(dataSource, { trajectories: [episode], events: [] }))))
      await sleep(20);
    console.log(id);
  }
}

async function isRecorded(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    console.error(String(error));
    return false;
  }
}

void write(process.argv[2], process.argv[3]);
