import { FINAL_PHASES } from '@ui-rl/bus';
import { type BaseModel, STREAMS } from '@ui-rl/contracts';
import { join } from 'node:path';
import { CheckpointFolder } from '../checkpoints/checkpoint-folder';
import type { LearnerState } from '../checkpoints/learner-state';
import { CheckpointStore } from '../checkpoints/checkpoint-store';
import { IndexSet } from '../episodes/index-set';
import { trajectoryConsumer } from '../episodes/intake';
import { CHECKPOINTS, type RunFolder, openRunFolder } from '../run-folder';
import { keepsCheckpoint } from '../run-options';
import { Progress } from '../training/progress';
import { type Carried, NOTHING_CARRIED, readCarried } from '../training/stored/kept-episodes';
import { RunWarnings } from '../warnings';
import type { StartOptions } from './start-options';

/** The state of a run that is known before its learner is created. */
export type Stood = Pick<Resumed, 'state' | 'carried' | 'failedGroups' | 'takenOut'>;

/** The state in which the run resumes. */
export interface Resumed {
  checkpoints: CheckpointStore;
  /** undefined for a new run. */
  state: LearnerState | undefined;
  carried: Carried;
  /** Groups that were abandoned since, as ranges. */
  failedGroups: string;
  /** Tasks that are no longer trained on. */
  takenOut: readonly string[];
  progress: Progress;
  runFolder: RunFolder;
}

export function folderOf({ bus, run, options, machine }: StartOptions): Promise<RunFolder> {
  const { log_dir: logDir, behavior_if_log_dir_exists: ifExists } = options.logging;
  const isOpen = async (id: string): Promise<boolean> => {
    const state = await bus.runs.state(id);
    return state !== null && !FINAL_PHASES.includes(state.phase);
  };
  return openRunFolder({ runsDir: machine.runsDir, runId: run.record.runId, logDir, ifExists, isOpen });
}

export function progressOf(
  runId: string,
  { state, carried, failedGroups, takenOut }: Stood,
  base: BaseModel,
  device: string,
): Progress {
  const progress =
    state === undefined ? new Progress(runId, base, device) : Progress.from(state, carried, base, device);
  for (const index of IndexSet.parse(failedGroups)) progress.fail(index);
  for (const task of takenOut) progress.takenOut.add(task);
  return progress;
}

export async function readState(
  { bus, run, options, lease }: StartOptions,
  { dir }: RunFolder,
): Promise<Stood & Pick<Resumed, 'checkpoints'>> {
  const { runId } = run.record;
  const folder = new CheckpointFolder(join(dir, CHECKPOINTS));
  const warnings = new RunWarnings(bus, runId);
  const checkpoints = new CheckpointStore(folder, bus.checkpoints, {
    runId,
    uploads: options.logging.upload_checkpoints,
    lease,
    keeps: (step) => keepsCheckpoint(options, step),
    warn: (message, step) =>
      warnings.send('damaged_checkpoint', message, `learner.damaged_checkpoint.${step}.${lease.epoch}`),
  });
  const policy = await bus.runs.policy(runId);
  const { state, wentBack } = await checkpoints.resume(policy);
  // Includes episodes acknowledged since then, which the stream still has.
  if (wentBack) await bus.deleteConsumer(STREAMS.trajectories, trajectoryConsumer(runId));
  const carried = state === undefined ? NOTHING_CARRIED : await readCarried(folder.pathOf(state.step));
  const { failedGroups = '', takenOut = [] } = policy ?? {};
  return { checkpoints, state, carried, failedGroups, takenOut };
}
