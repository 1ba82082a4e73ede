import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  loadRunFile,
  projectRoot,
  readCliSettings,
  type CliSettings,
  type RunFileOptions,
} from '@ui-rl/settings';
import { ASSUMED } from '../run/assumed';
import { blobsCheck } from './blobs';
import { brokerCheck } from './broker';
import type * as DatabaseModule from './database';
import { findings, type Check, type Finding } from './finding';
import { deviceCheck, diskCheck, memoryCheck, nodeCheck } from './machine';
import { environmentCheck, modelCheck, type RunToCheck } from './run';

export interface DoctorOptions {
  /** Path of a run file, or its options as an object. Missing options default to those of a run on the demo tasks. */
  runFile?: string | RunFileOptions;
  /** Further options, as command-line flags. */
  flags?: readonly string[];
  signal?: AbortSignal;
}

/**
 * Checks everything that a run on this machine would use, by using it briefly: it opens the database, the first
 * task's environment and the device. It creates only what these create themselves.
 *
 * @throws SettingsError with every fault of the environment variables or the run file
 */
export async function* examine(options: DoctorOptions = {}): AsyncGenerator<Finding> {
  const { runFile = {}, flags, signal = new AbortController().signal } = options;
  const settings = readCliSettings();
  const source = typeof runFile === 'string' ? { file: runFile } : { options: runFile };
  const models = Object.keys(settings.models);
  const loaded = await loadRunFile({ ...source, flags, assumed: ASSUMED, models }, settings.plugins);
  yield* findings(checksOf(settings, loaded), signal);
}

function checksOf(settings: CliSettings, run: RunToCheck): Check[] {
  const { runsDir, cacheDir } = settings;
  // oxlint-disable-next-line typescript/no-require-imports -- loads the database driver only for a command that opens
  // a database
  const { databaseCheck } = require('./database') as typeof DatabaseModule;
  return [
    nodeCheck(neededNode()),
    memoryCheck,
    diskCheck({ UIRL_RUNS_DIR: runsDir, UIRL_CACHE_DIR: cacheDir, TMPDIR: tmpdir() }),
    brokerCheck(settings),
    ...(settings.nats.blobs === undefined ? [] : [blobsCheck(settings.nats.blobs)]),
    databaseCheck(settings.database),
    modelCheck(run, settings),
    deviceCheck,
    environmentCheck(run, settings),
  ];
}

/** The minimum in the form of `package.json`: `>=20.19`. */
function neededNode(): string {
  const text = readFileSync(join(projectRoot, 'package.json'), 'utf8');
  return (JSON.parse(text) as { engines: { node: string } }).engines.node;
}
