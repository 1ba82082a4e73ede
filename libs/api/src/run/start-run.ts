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
import { nameModelFolder } from './model-name';
import { placeRun } from './log-path';
import { findMonitorPage } from './monitor-page';
import { brokerHost, ownHost } from './run-host';

export interface RunOptions {
  /**
   * Further options, as on the command line: `['--training.max_steps', '10']`. Keys among them (`--gbox_api_key`) are for services of its own
   * alone, in whose environment they are.
   */
  flags?: readonly string[];
  /** Where relative paths of flags, and of a run file that is an object, start. Default: the working directory. */
  workingDir?: string;
  /**
   * `broker`: the services of the broker that `NATS_URL` names. `own`: a broker and six services on this machine, which end with
   * the run. Default: `broker` where `NATS_URL` is set, else `own`.
   */
  services?: 'broker' | 'own';
  /** Ends the waiting, and services of its own; a run of other services goes on. */
  signal?: AbortSignal;
  /** Asked what becomes of the checkpoints of an earlier run, where the run file says `ask`. Default: that is an error. */
  ask?: (question: string) => Promise<string>;
  /** Called with everything the run tells. */
  onEvent?: (event: RunEvent) => void;
  /** Called with what goes wrong and does not end the run. */
  onWarning?: (message: string) => void;
}

/** What came of a run. */
export interface TrainResult extends QuickstartReport {
  runId: string;
}

/** A run that is going on. */
export interface StartedRun {
  readonly runId: string;
  readonly run: RunFile;
  /** What was decided for it that the run file does not say. */
  readonly notes: readonly string[];
  /** What is known of it, as it happens. */
  readonly observer: RunObserver;
  /** Address of the monitor, where the services are its own. */
  readonly monitorUrl?: string;
  /** Context file of its broker (`NATS_CONTEXT`, `nats --context`), where that is its own. */
  readonly contextFile?: string;
  /** Folder of its services' logs, where these are its own; it goes with them, unless the run failed. */
  readonly logsDir?: string;
  /** The monitor's page of the run at an address that answers here; else what there is, and what to do. */
  monitorPage(): Promise<string>;
  /** How far it has come, on one line. */
  progress(): string;
  /** Resolves when the run has ended; rejects where it failed or the signal aborts. */
  end(): Promise<TrainResult>;
  /** Stops following; ends services of its own. */
  stop(): Promise<void>;
}

/**
 * Starts a run. What the environment says counts as for the command line.
 *
 * @param runFile path of a run file, or its options as an object
 * @throws SettingsError with everything that is wrong with the run file, before anything is started
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
  const notes = [length, placed.note].filter((note) => note !== undefined);
  const { runsDir } = placed;
  const { run, env } =
    services === 'own' ? nameModelFolder(placed.run, settings.models) : { run: placed.run, env: {} };
  const runId = newRunId(run.logging.run_name);
  const observer = new RunObserver();
  const host = await (services === 'broker'
    ? brokerHost(settings, signal)
    : ownHost(settings, runId, run, { runsDir, env: { ...env, ...keys }, onWarning }));
  const { bus } = host;
  let stopWatching = (): void => undefined;
  const stop = () => {
    stopWatching();
    return host.stop(observer.failure !== undefined);
  };
  try {
    signal?.throwIfAborted();
    run.logging.behavior_if_log_dir_exists = await decideOnLogDir(bus, run, options.ask);
    // Services of its own are as many as it wants.
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
      if (observer.failure !== undefined) throw new Error(failureText(observer.failure, registry));
      const { seed } = run.training;
      const wallSeconds = (Date.now() - started) / 1000;
      const facts = { seed, wallSeconds, setupSeconds: settings.setupSeconds, peakRss: host.peakRss() };
      return { runId, ...quickstartReport(observer, facts) };
    };
    const progress = () => progressLine(observer, phaseGoal(run, evaluation, observer));
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
