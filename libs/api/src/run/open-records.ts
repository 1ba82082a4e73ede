import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sleep } from '@ui-rl/retry';
import type { CliSettings } from '@ui-rl/settings';
import { Fleet } from '../local/fleet';
import { makeRunsFolder } from '../local/runs-folder';

const OPENS_WITHIN_MS = 60_000;

/** A monitor that shows the records of runs that have ended. */
export interface OpenRecords {
  /** Address of its page. */
  page: string;
  close(): Promise<void>;
}

export interface OpenRecordsOptions {
  /** Id of the run. Default: the newest one that has records. */
  run?: string | undefined;
  signal?: AbortSignal;
  onWarning: (message: string) => void;
}

/**
 * Starts a monitor over the database that quickstart or eval left in the folder of a run. The database has no
 * screenshots.
 *
 * @throws Error if there are no such records
 */
export async function openRecords(
  settings: CliSettings,
  { run, signal, onWarning }: OpenRecordsOptions,
): Promise<OpenRecords> {
  const runId = run ?? newestRun(settings.runsDir);
  const dir = databaseOf(settings.runsDir, runId);
  if (!existsSync(dir))
    throw new Error(`there are no records of run ${runId}: expected the folder ${dir} (UIRL_RUNS_DIR)`);
  await makeRunsFolder(dirname(dir));
  const workDir = await mkdtemp(join(tmpdir(), 'ui-rl-'));
  const removed = () => rm(workDir, { recursive: true, force: true });
  const fleet = await Fleet.start({
    services: ['monitor'],
    natsServer: settings.natsServer,
    usualPorts: { nats: 0, monitor: settings.monitor.port },
    ...{ workDir, isTemporary: true, onWarning },
    env: settings.environmentWith({
      UIRL_RUNS_DIR: settings.runsDir,
      UIRL_PGLITE_DIR: dir,
      UIRL_RUN: undefined,
    }),
  }).catch(async (error: unknown) => {
    await removed();
    throw error;
  });
  const close = () => fleet.stop().then(removed);
  try {
    await answers(`${fleet.monitorUrl}/api/monitor`, signal);
    return { page: `${fleet.monitorUrl}/#/runs/${runId}`, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function databaseOf(runsDir: string, runId: string): string {
  return join(runsDir, runId, 'monitor-db');
}

function newestRun(runsDir: string): string {
  const runs = existsSync(runsDir) ? readdirSync(runsDir) : [];
  const [newest] = runs
    .filter((run) => existsSync(databaseOf(runsDir, run)))
    .map((run) => ({ run, at: statSync(join(runsDir, run)).mtimeMs }))
    .toSorted((a, b) => b.at - a.at);
  if (newest === undefined)
    throw new Error(
      `no run in ${runsDir} (UIRL_RUNS_DIR) has records: expected that of a quickstart or eval`,
    );
  return newest.run;
}

async function answers(url: string, signal?: AbortSignal): Promise<void> {
  for (const until = Date.now() + OPENS_WITHIN_MS; Date.now() < until; await sleep(100, signal)) {
    signal?.throwIfAborted();
    // Any answer shows that the monitor runs, even a request for a token.
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
  }
  throw new Error(`the monitor does not answer at ${url} after ${OPENS_WITHIN_MS / 1000} s`);
}
