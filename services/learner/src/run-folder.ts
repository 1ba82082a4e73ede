import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunId } from '@ui-rl/contracts';
import { readOptionalJson } from '@ui-rl/models';
import { Misconfigured } from '@ui-rl/service';
import type { RunFile } from '@ui-rl/settings';
import { CheckpointFolder } from './checkpoints/checkpoint-folder';

export type IfLogDirExists = RunFile['logging']['behavior_if_log_dir_exists'];

/** The run must not start: its folder contains another run's checkpoints, which have to be left alone. */
export class RunSkipped extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RunSkipped';
  }
}

export interface RunFolderOptions {
  /** Folder of all runs on this machine. */
  runsDir: string;
  runId: string;
  /** Name of the run's folder; default: the run id. */
  logDir?: string;
  ifExists: IfLogDirExists;
  /** Whether a run has not ended yet. */
  isOpen: (runId: string) => Promise<boolean>;
}

export interface RunFolder {
  dir: string;
  /** Checkpoint of an earlier run in the same folder, with the initial weights and optimizer of this run. */
  resumeFrom?: string;
}

/** Subfolder of a run's checkpoints. */
export const CHECKPOINTS = 'checkpoints';
/** Prefix of the subfolder `earlier.<run>` for the files of an earlier run. */
const EARLIER = 'earlier.';
const FOLDER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Whether a text names a folder and nothing outside it. */
function isFolderName(text: string): boolean {
  return FOLDER.test(text);
}

/**
 * Opens the folder of a run. If it contains checkpoints of another run, all of that run's files are treated as the
 * run file says: deleted (`overwrite`), moved to `earlier.<other run>` and resumed from (`resume`), or left alone
 * (`skip`).
 * @throws RunSkipped, or an error that says what to choose (`ask` is for the command line), or that the other run is
 *   not over
 */
export async function openRunFolder(options: RunFolderOptions): Promise<RunFolder> {
  const { runsDir, runId, logDir = runId, ifExists } = options;
  if (!isRunId(runId) || !isFolderName(logDir))
    throw new Misconfigured(`"${logDir}" of run "${runId}" is not a folder name`);
  const dir = join(runsDir, logDir);
  const checkpoints = join(dir, CHECKPOINTS);
  const other = await ownerOf(checkpoints);
  if (other !== undefined && other !== runId) await makeRoom(dir, other, options);
  return ifExists === 'resume' && other !== runId ? { dir, resumeFrom: await movedAside(dir) } : { dir };
}

async function makeRoom(
  dir: string,
  other: string,
  { ifExists, isOpen, runId }: RunFolderOptions,
): Promise<void> {
  const found = `${dir} has checkpoints of run ${other}`;
  if (await isOpen(other)) throw new Error(`${found}, which is not over: choose another logging.log_dir`);
  if (ifExists === 'skip')
    throw new RunSkipped(`${found}: run ${runId} is skipped (logging.behavior_if_log_dir_exists)`);
  if (ifExists === 'ask') {
    throw new Misconfigured(
      `${found}, and this is not a terminal that could ask: set logging.behavior_if_log_dir_exists to overwrite, resume or skip, or choose another logging.log_dir`,
    );
  }
  if (ifExists === 'overwrite') await rm(dir, { recursive: true, force: true });
  else await moveAside(dir, other);
}

/** Moves the checkpoints last: while they exist, the next attempt moves the rest. */
async function moveAside(dir: string, other: string): Promise<void> {
  const aside = join(dir, `${EARLIER}${other}`);
  await mkdir(aside, { recursive: true });
  const names = (await readdir(dir)).filter((name) => !name.startsWith(EARLIER) && name !== CHECKPOINTS);
  for (const name of [...names, CHECKPOINTS]) await rename(join(dir, name), join(aside, name));
}

/** The run whose checkpoints are in the folder; undefined if there is none. */
async function ownerOf(checkpoints: string): Promise<string | undefined> {
  const folder = new CheckpointFolder(checkpoints);
  for (const step of (await folder.steps()).toReversed()) {
    // Only the run's id counts: a state that this version cannot read still belongs to that run.
    const file = join(folder.pathOf(step), 'state.json');
    // A damaged one names no run; earlier ones do.
    const state = await readOptionalJson(file).catch(() => undefined);
    if (state === undefined) continue;
    const { runId } = state;
    if (typeof runId !== 'string' || !isRunId(runId)) throw new Error(`${file} names no run`);
    return runId;
  }
  return undefined;
}

async function newestIn(checkpoints: string): Promise<string | undefined> {
  const folder = new CheckpointFolder(checkpoints);
  const newest = await folder.newestIntact();
  return newest === undefined ? undefined : folder.pathOf(newest);
}

/**
 * The newest checkpoint of the run that was moved aside last, even if a process ended before the new run saved its
 * first one.
 */
async function movedAside(dir: string): Promise<string | undefined> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const folders = names.filter((name) => name.startsWith(EARLIER));
  const times = await Promise.all(folders.map(async (name) => (await stat(join(dir, name))).mtimeMs));
  const last = folders[times.indexOf(Math.max(...times))];
  return last === undefined ? undefined : newestIn(join(dir, last, CHECKPOINTS));
}
