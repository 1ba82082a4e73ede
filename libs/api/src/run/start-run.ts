import {
  newRunId,
  readCliSettings,
  refuseKeys,
  refuseUnreadKeys,
  takeKeys,
  type RunFile,
  type RunFileOptions,
} from '@ui-rl/settings';
import type { RunEvent } from '@ui-rl/contracts';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { aborted } from '../local/cleanup';
import { earlierRecords } from '../local/earlier-records';
import { loadForModel } from '../model/action-format';
import { evaluationEpisodes, phaseGoal } from '../report/goals';
import { progressLine } from '../report/progress';
import { quickstartReport, type QuickstartReport } from '../report/quickstart-report';
import { RunObserver } from '../report/run-observer';
import { announceRun, runEnd } from './announce';
import { stepsOfEpochs } from './epochs';
import { countTasks } from './run-tasks';
import { howToAllow } from './how-to-allow';
import { missingActors } from './missing-actors';
import { missingServices } from './missing-services';
import { decideOnLogDir } from './log-dir';
import { nameModelFolders } from './model-name';
import { placeRun } from './log-path';
import { findMonitorPage } from './monitor-page';
import { allRecorded } from './recorded';
import { brokerHost, ownHost } from './run-host';

export interface RunOptions {
  /**
   * Further options, as on the command line: `['--training.max_steps', '10']`. API keys among them (`--gbox_api_key`)
   * go only to the environment of services that this call starts.
   */
  flags?: readonly string[];
  /** Base of relative paths in flags and in a run file given as an object. Default: the working directory. */
  workingDir?: string;
  /**
   * `broker`: the services of the broker that `NATS_URL` names. `own`: a broker and six services on this machine,
   * which stop with the run. Default: `broker` if `NATS_URL` is set, else `own`.
   */
  services?: 'broker' | 'own';
  /** Stops waiting, and stops services of the run; with services of a broker, the run continues. */
  signal?: AbortSignal;
  /**
   * Asks what to do with the checkpoints of an earlier run, if the run file says `ask`. Default: that case is an
   * error.
   */
  ask?: (question: string) => Promise<string>;
  /** Called with every event of the run. */
  onEvent?: (event: RunEvent) => void;
  /** Called with non-fatal problems. */
  onWarning?: (message: string) => void;
}

/** The result of a run. */
export interface TrainResult extends QuickstartReport {
  runId: string;
}

/** An active run. */
export interface StartedRun {
  readonly runId: string;
  readonly run: RunFile;
  /** Decisions that the run file left open. */
  readonly notes: readonly string[];
  /** Live state of the run. */
  readonly observer: RunObserver;
  /** Address of the monitor, if the services were started for the run. */
  readonly monitorUrl?: string;
  /** Context file of its broker (`NATS_CONTEXT`, `nats --context`), if the broker was started for the run. */
  readonly contextFile?: string;
  /** Log folder of services that were started for the run; removed with them unless the run fails. */
  readonly logsDir?: string;
  /** Address of the run's page on a reachable monitor; else a description of the problem and its fix. */
  monitorPage(): Promise<string>;
  /** Progress on one line of at most `columns` characters, as far as that is possible. */
  progress(columns?: number): string;
  /** Resolves when the run has ended; rejects if it failed or the signal aborts. */
  end(): Promise<TrainResult>;
  /** Stops following the run, and stops services that were started for it. */
  stop(): Promise<void>;
}

/**
 * Starts a run. Reads the same environment variables as the command line.
 *
 * @param runFile path of a run file, or its options as an object
 * @throws SettingsError with every fault of the run file, before anything starts
 */
export async function startRun(
  runFile: string | RunFileOptions,
  options: RunOptions = {},
): Promise<StartedRun> {
  const started = Date.now();
  const settings = readCliSettings();
  const { keys, flags } = takeKeys(options.flags ?? []);
  const { workingDir, signal, onEvent = () => undefined, onWarning = () => undefined } = options;
  const { services = settings.hasBroker ? 'broker' : 'own' } = options;
  const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const models = Object.keys(settings.models);
  const loaded = await loadForModel({ ...source, flags, workingDir, models });
  const { registry, usualFormat } = loaded;
  const counts = await countTasks(loaded.run, registry, onWarning);
  const evaluation = evaluationEpisodes(loaded.run, counts);
  const length = stepsOfEpochs(loaded.run, counts, registry);
  if (services === 'broker') refuseKeys(keys);
  refuseUnreadKeys(keys, registry);
  const placed = placeRun(loaded.run, settings.runsDir, services);
  const earlier = services === 'own' ? earlierRecords(settings) : undefined;
  const notes = [...loaded.notes, length, placed.note, earlier].filter((note) => note !== undefined);
  const { runsDir } = placed;
  const { run, env } =
    services === 'own' ? nameModelFolders(placed.run, settings.models) : { run: placed.run, env: {} };
  const runId = newRunId(run.logging.run_name);
  const observer = new RunObserver();
  const host = await (services === 'broker'
    ? brokerHost(settings, signal)
    : ownHost(settings, runId, run, {
        ...{ runsDir, onWarning, env: { ...env, ...keys } },
        environments: counts?.environments ?? [],
      }));
  const { bus } = host;
  let stopWatching = (): void => undefined;
  const stop = () => {
    stopWatching();
    return host.stop(observer.failure !== undefined);
  };
  try {
    signal?.throwIfAborted();
    run.logging.behavior_if_log_dir_exists = await decideOnLogDir(bus, run, options.ask);
    // Own services include as many actors as the run asks for.
    const wantedActors = services === 'broker' ? run.rollout.num_actors : 0;
    const watchActors = missingActors(wantedActors, onWarning);
    const absent = services === 'broker' ? missingServices(settings.nats, onWarning) : undefined;
    stopWatching = () => absent?.stop();
    const ended = runEnd(bus, runId, observer, (event) => {
      onEvent(event);
      watchActors(event);
      absent?.onEvent(event);
      const hint = event.type === 'warning' ? howToAllow(event.message, registry) : undefined;
      if (hint !== undefined) onWarning(hint);
    });
    ended.catch(() => undefined);
    await announceRun(bus, runId, run, registry, usualFormat?.format);
    const end = async (): Promise<TrainResult> => {
      await (signal === undefined ? ended : Promise.race([ended, aborted(signal)]));
      if (host.monitorUrl !== undefined && !(await allRecorded(bus, signal)))
        onWarning('the monitor has not recorded everything');
      if (observer.failure !== undefined) throw new Error(failureText(observer.failure, registry));
      const { seed } = run.training;
      const wallSeconds = (Date.now() - started) / 1000;
      const facts = { seed, wallSeconds, setupSeconds: settings.setupSeconds, peakRss: host.peakRss() };
      return { runId, ...quickstartReport(observer, facts) };
    };
    const progress = (columns?: number) =>
      progressLine(observer, phaseGoal(run, evaluation, observer), Date.now(), columns);
    const monitorPage = () => findMonitorPage(bus, runId);
    const { monitorUrl, contextFile, logsDir } = host;
    return {
      runId,
      run,
      notes,
      observer,
      monitorUrl,
      contextFile,
      logsDir,
      monitorPage,
      progress,
      end,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function failureText(reason: string, registry: ComponentRegistry): string {
  const hint = howToAllow(reason, registry);
  return `the run failed: ${reason}${hint === undefined ? '' : `\n${hint}`}`;
}
