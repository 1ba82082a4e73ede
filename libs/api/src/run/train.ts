import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import {
  loadRunFile,
  newRunId,
  readCliSettings,
  type CliSettings,
  type LoadedRunFile,
} from '@ui-rl/settings';
import { aborted } from '../local/cleanup';
import { quickstartReport, type QuickstartReport } from '../report/quickstart-report';
import { RunObserver } from '../report/run-observer';
import { announceRun, runEnd } from './announce';
import { LocalRun } from './local-run';
import { decideOnLogDir } from './log-dir';

/** A run file as an object: the options that are not to have their defaults, under the same names. */
export type RunFileOptions = Readonly<Record<string, unknown>>;

export interface TrainOptions {
  /** Further options, as on the command line: `['--training.max_steps', '10']`. */
  flags?: readonly string[];
  /** Ends the waiting, and services that were started; a run of other services goes on. */
  signal?: AbortSignal;
  /** Called with everything the run tells. */
  onEvent?: (event: RunEvent) => void;
  /** Called with what goes wrong and does not end the run. */
  onWarning?: (message: string) => void;
}

export interface TrainResult extends QuickstartReport {
  runId: string;
}

/**
 * Trains to the end: with the services of the broker that `NATS_URL` names, else with a broker and services of its own on this
 * machine, which end with the run. What the environment says counts as for the command line.
 * @param runFile path of a run file, or its options as an object
 * @returns what came of it; rejects where the run failed
 */
export async function train(
  runFile: string | RunFileOptions,
  options: TrainOptions = {},
): Promise<TrainResult> {
  const settings = readCliSettings();
  const { flags = [] } = options;
  const source = typeof runFile === 'string' ? { file: runFile, flags } : { options: runFile, flags };
  const loaded = await loadRunFile(source, settings.plugins);
  return settings.hasBroker ? trainThere(settings, loaded, options) : trainHere(settings, loaded, options);
}

async function trainThere(
  settings: CliSettings,
  { run, registry }: LoadedRunFile,
  options: TrainOptions,
): Promise<TrainResult> {
  const { signal, onEvent = () => undefined } = options;
  const started = Date.now();
  const bus = await BusService.connect({ ...settings.nats, signal });
  try {
    run.logging.behavior_if_log_dir_exists = await decideOnLogDir(bus, run, undefined);
    const runId = newRunId(run.logging.run_name);
    const observer = new RunObserver();
    const ended = runEnd(bus, runId, observer, onEvent);
    await announceRun(bus, runId, run, registry);
    await untilAborted(ended, signal);
    if (observer.failure !== undefined) throw new Error(`the run failed: ${observer.failure}`);
    const facts = {
      seed: run.training.seed,
      wallSeconds: (Date.now() - started) / 1000,
      setupSeconds: 0,
      peakRss: {},
    };
    return { runId, ...quickstartReport(observer, facts) };
  } finally {
    await bus.close();
  }
}

async function trainHere(
  settings: CliSettings,
  { run, registry }: LoadedRunFile,
  options: TrainOptions,
): Promise<TrainResult> {
  const { signal, onEvent = () => undefined, onWarning = () => undefined } = options;
  const workDir = await mkdtemp(join(tmpdir(), 'ui-rl-'));
  const local = new LocalRun({ settings, run, registry, workDir, onWarning, onEvent });
  try {
    await untilAborted(local.start(), signal);
    return { runId: local.runId, ...(await untilAborted(local.end(), signal)) };
  } finally {
    await local.stop();
    await rm(workDir, { recursive: true, force: true });
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? work : Promise.race([work, aborted(signal)]);
}
