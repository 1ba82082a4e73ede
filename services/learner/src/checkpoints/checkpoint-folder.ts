import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stepFolder, type BaseModel } from '@ui-rl/contracts';

/** What a checkpoint says about the run (`state.json`), besides weights and optimizer. */
export interface LearnerState {
  format: 1;
  runId: string;
  /** What the weights belong to. */
  model: BaseModel;
  /** Steps trained, a batch each. */
  step: number;
  /** Digest of the weights that sampled at each step, by step; a trajectory with any other is refused. */
  digests: Record<string, string>;
  /** Group indices whose episodes are trained or dropped, as ranges: `0-79,81`. */
  settledGroups: string;
  /** Groups replaced so far, on top of `groups_per_batch` per step: without learning signal, or without a valid episode. */
  replacedGroups: number;
  counts: { trajectories: number; invalid: number; trainedEpisodes: number; trainedTokens: number };
  /** ISO 8601. */
  savedAt: string;
  /** The last step, so that it can be reported again; without the times of the checkpoint that holds this. */
  lastStep: { rolloutIds: string[]; metrics: Record<string, number> } | null;
}

const NAME = /^\d{6,}$/;

/** The checkpoints of one run on disk. */
export class CheckpointFolder {
  constructor(readonly dir: string) {}

  pathOf(step: number): string {
    return join(this.dir, stepFolder(step));
  }

  /** Steps with a checkpoint, in order. Folders that are being written do not count. */
  async steps(): Promise<number[]> {
    const entries = await readdir(this.dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return entries
      .filter((name) => NAME.test(name))
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /** Where the run stood when its newest checkpoint was written; undefined where there is none. */
  async newest(): Promise<LearnerState | undefined> {
    const step = (await this.steps()).at(-1);
    return step === undefined ? undefined : this.readState(step);
  }

  async readState(step: number): Promise<LearnerState> {
    const file = join(this.pathOf(step), 'state.json');
    const state = JSON.parse(await readFile(file, 'utf8')) as LearnerState;
    if (state.format !== 1)
      throw new Error(`${file} has format ${String(state.format)}; this version reads format 1`);
    return state;
  }

  /** Deletes checkpoints but the newest few and those of steps that are to be kept. */
  async prune(keep: (step: number) => boolean, newest: number): Promise<void> {
    const steps = await this.steps();
    for (const step of steps.slice(0, -newest)) {
      if (!keep(step)) await rm(this.pathOf(step), { recursive: true, force: true });
    }
  }
}
