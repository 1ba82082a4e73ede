import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import type { CliSettings, RunFile } from '@ui-rl/settings';
import { connectCommand } from './command-bus';
import { Fleet } from '../local/fleet';
import { SERVICES, type ServiceName } from '../local/members';
import { makeRunsFolder } from '../local/runs-folder';

/** The broker and services of a run. */
export interface RunHost {
  bus: BusService;
  /** Address of the monitor, if the services were started for the run. */
  monitorUrl?: string;
  /** Context file of the broker (`NATS_CONTEXT`, `nats --context`), if it was started for the run. */
  contextFile?: string;
  /** Log folder of the services, if they were started for the run. */
  logsDir?: string;
  /** Peak resident set of each started service, in bytes. */
  peakRss(): Record<string, number>;
  /**
   * Disconnects from the broker and stops what was started for the run. `keepLogs` preserves the logs of a failed
   * run.
   */
  stop(keepLogs: boolean): Promise<void>;
}

/** The broker that the environment names, with the services that are connected to it. */
export async function brokerHost(settings: CliSettings, signal?: AbortSignal): Promise<RunHost> {
  const bus = await connectCommand(settings, signal);
  return { bus, peakRss: () => ({}), stop: () => bus.close() };
}

/** All runs of this machine are recorded in one place, wherever a run file puts the run's folder. */
function recordsOf({ database }: CliSettings): Record<string, string> {
  return database.kind === 'pglite' ? { UIRL_PGLITE_DIR: database.dataDir } : {};
}

/** The env service offers the environment of the run file, and those that tasks name. */
function offered({ environment }: RunFile, named: readonly string[]): Record<string, string> {
  const kinds = new Set([environment.kind.name, ...named]);
  return kinds.size === 1 ? {} : { UIRL_ENVIRONMENTS: [...kinds].join(',') };
}

export interface OwnHostOptions {
  /** Default: all that the run needs. */
  services?: readonly ServiceName[];
  /** Folder of all runs. */
  runsDir: string;
  /** Additional environment of the services. */
  env: Readonly<Record<string, string>>;
  /** Kinds of environments that tasks of the run name, besides that of the run file. */
  environments?: readonly string[];
  onWarning: (message: string) => void;
}

/** Starts a private broker and services for one run on this machine. */
export async function ownHost(
  settings: CliSettings,
  runId: string,
  run: RunFile,
  { services = SERVICES, runsDir, env, environments = [], onWarning }: OwnHostOptions,
): Promise<RunHost> {
  await makeRunsFolder(runsDir);
  const workDir = await mkdtemp(join(tmpdir(), 'ui-rl-'));
  let fleet: Fleet | undefined;
  let bus: BusService | undefined;
  const stop = async (keepLogs: boolean) => {
    await bus?.close();
    await fleet?.stop();
    if (!keepLogs) await rm(workDir, { recursive: true, force: true });
  };
  try {
    fleet = await Fleet.start({
      services,
      copies: { actor: run.rollout.num_actors, sampler: run.sampler.name === 'external' ? 1 : 0 },
      natsServer: settings.natsServer,
      workDir,
      isTemporary: true,
      env: settings.environmentWith({
        ...env,
        UIRL_RUN: runId,
        UIRL_RUNS_DIR: runsDir,
        UIRL_PLUGINS: [...new Set([...settings.plugins, ...run.plugins])].join(','),
        ...recordsOf(settings),
        ...offered(run, environments),
      }),
      onWarning,
    });
    bus = await BusService.connect({
      service: 'cli',
      ...fleet.nats!.connection,
      blobs: settings.nats.blobs,
    });
  } catch (error) {
    await stop(true);
    throw error;
  }
  const started = fleet;
  const { monitorUrl } = started;
  const contextFile = started.nats?.contextFile;
  return {
    bus,
    monitorUrl,
    contextFile,
    logsDir: join(workDir, 'logs'),
    peakRss: () => started.peakRss(),
    stop,
  };
}
