import { fork } from 'node:child_process';
import { once } from 'node:events';
import { boundedFetch } from '@ui-rl/http';
import { openMonitors, type OpenMonitor } from '@ui-rl/records';
import { DEADLINES } from '@ui-rl/retry';
import type { CliSettings } from '@ui-rl/settings';
import { freePort } from '../local/nats-server';
import { earlierRecords } from '../local/earlier-records';
import { serviceProgram } from '../local/project';
import { hasRecords } from './recorded-runs';

/** A monitor that shows recorded runs. */
export interface OpenRecords {
  /** Address of its page. */
  page: string;
  /** Monitors of active runs over the same records. */
  live: OpenMonitor[];
  /** Resolves with its exit code when it ends. */
  ended: Promise<number | null>;
  close(): Promise<void>;
}

export interface OpenRecordsOptions {
  /** Id of the run whose page to show. Default: the list of runs. */
  run?: string | undefined;
  signal?: AbortSignal;
}

const ask = boundedFetch({ maxBytes: 16 * 2 ** 20 });

/**
 * Starts a monitor over the records of this machine, or over the database that the user configured. It needs no
 * broker, and may run beside monitors that record.
 *
 * @throws Error if there are no records, or they cannot be opened
 */
export async function openRecords(
  settings: CliSettings,
  { run, signal }: OpenRecordsOptions = {},
): Promise<OpenRecords> {
  const { database } = settings;
  assertRecords(settings);
  const live = database.kind === 'pglite' ? await openMonitors(database.dataDir) : [];
  const child = fork(serviceProgram('monitor', 'viewer'), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: settings.environmentWith({ MONITOR_PORT: String(await freePort(settings.monitor.port)) }),
    // Ctrl-C on the terminal reaches only this process, which then ends the child in order.
    detached: true,
  });
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), DEADLINES.stopProcess.ms);
    await ended;
    clearTimeout(killer);
  };
  try {
    const url = await addressOf(child, ended, signal);
    await assertRun(url, settings.monitor.token, run);
    const path = run === undefined ? '/' : `/#/runs/${encodeURIComponent(run)}`;
    return { page: `${url}${path}`, live: live.filter(({ records }) => records), ended, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function assertRecords(settings: CliSettings): void {
  const { database } = settings;
  if (database.kind !== 'pglite' || hasRecords(database)) return;
  const earlier = earlierRecords(settings);
  throw new Error(
    `no run has been recorded in ${database.dataDir} (UIRL_RUNS_DIR): start one first, for example npx ui-rl quickstart${earlier === undefined ? '' : `\n${earlier}`}`,
  );
}

/** The address, or the error, that the child sends. */
async function addressOf(
  child: ReturnType<typeof fork>,
  ended: Promise<number | null>,
  signal?: AbortSignal,
): Promise<string> {
  const said = once(child, 'message', { signal }).then(
    ([message]) => message as { url: string } | { error: string },
  );
  const gone = ended.then((code) => ({ error: `it ended with exit code ${code}` }));
  const answer = await Promise.race([said, gone]);
  if ('url' in answer) return answer.url;
  throw new Error(`the monitor cannot open the records: ${answer.error}`);
}

async function assertRun(url: string, token: string | undefined, run: string | undefined): Promise<void> {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const path = run === undefined ? '?archived=yes&limit=1' : `/${encodeURIComponent(run)}`;
  const response = await ask(`${url}/api/runs${path}`, { headers });
  if (response.status === 404)
    throw new Error(`the records contain no run ${run}: npx ui-rl runs list lists them`);
  const found = await response.json().catch(() => null);
  if (Array.isArray(found) && found.length === 0)
    throw new Error('the records contain no run yet: start one first, for example npx ui-rl quickstart');
}
