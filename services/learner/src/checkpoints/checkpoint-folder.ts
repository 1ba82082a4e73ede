import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findDamage, syncFolder, syncTree } from '@ui-rl/bus';
import { stepFolder, type BaseModel, type GroupResult } from '@ui-rl/contracts';
import type { GuardState } from '../training/guard/guard-state';

/** What a checkpoint says about the run (`state.json`), besides weights and optimizer. */
export interface LearnerState {
  format: 1;
  runId: string;
  /** Of the lease of the learner that wrote it (`RunLease`); absent where it was written before there were any. */
  epoch?: number;
  /** What the weights belong to. */
  model: BaseModel;
  /** Device that the run began on, as its engine calls it; absent where an older version wrote this. */
  device?: string | undefined;
  /** Steps trained, a batch each. */
  step: number;
  /** Of them, the first so many are those of the warm start; absent where there is none. */
  warmStartSteps?: number;
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
  lastStep: {
    epoch?: number;
    rolloutIds: string[];
    groups?: GroupResult[];
    metrics: Record<string, number>;
  } | null;
  /** Of the collapse guard; absent where an older version wrote this. */
  guard?: GuardState;
}

const NAME = /^\d{6,}$/;
const STAGING = '.writing';
const DAMAGED = '.damaged';

/** The checkpoints of one run on disk. */
export class CheckpointFolder {
  constructor(readonly dir: string) {}

  pathOf(step: number): string {
    return join(this.dir, stepFolder(step));
  }

  /** Where the learner of that epoch writes a step's checkpoint: nobody else writes there. */
  stagingOf(step: number, epoch: number): string {
    return `${this.pathOf(step)}.${epoch}${STAGING}`;
  }

  /** Steps with a checkpoint, in order. Folders that are being written do not count, nor those that were set aside. */
  async steps(): Promise<number[]> {
    const names = await this.names();
    return names
      .filter((name) => NAME.test(name))
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /**
   * Puts a folder that is finished in the place of a step's checkpoint, once all of it is on the disk. One that stands there was left
   * by a learner that ended, or that another one has taken over from, before anybody was told of it.
   * @param mayPlace asked last; rejects where this learner is not the one any more
   */
  async place(step: number, finished: string, mayPlace?: () => Promise<void>): Promise<void> {
    await syncTree(finished);
    await mayPlace?.();
    await this.remove(step);
    await rename(finished, this.pathOf(step));
    await syncFolder(this.dir);
  }

  /** What is wrong with a checkpoint; undefined where it is as it was written. */
  async damageOf(step: number): Promise<string | undefined> {
    const damage = await findDamage(this.pathOf(step));
    if (damage !== undefined) return damage;
    return this.readState(step).then(
      () => undefined,
      (error: Error) => error.message,
    );
  }

  /** Keeps a damaged checkpoint for whoever wants to look at it. @returns where */
  async setAside(step: number): Promise<string> {
    const aside = `${this.pathOf(step)}${DAMAGED}`;
    await rm(aside, { recursive: true, force: true });
    await rename(this.pathOf(step), aside);
    return aside;
  }

  /** Steps that were set aside. */
  async damagedSteps(): Promise<number[]> {
    const names = (await this.names()).filter((name) => name.endsWith(DAMAGED));
    return names.map((name) => Number(name.slice(0, -DAMAGED.length))).filter(Number.isInteger);
  }

  /** The newest step whose checkpoint is as it was written; undefined where there is none. */
  async newestIntact(): Promise<number | undefined> {
    for (const step of (await this.steps()).toReversed()) {
      if ((await this.damageOf(step)) === undefined) return step;
    }
    return undefined;
  }

  async readState(step: number): Promise<LearnerState> {
    return readStateOf(this.pathOf(step));
  }

  async remove(step: number): Promise<void> {
    await rm(this.pathOf(step), { recursive: true, force: true });
  }

  /** Removes what learners left that ended while they wrote. */
  async sweep(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    for (const name of await this.names()) {
      if (name.endsWith(STAGING)) await rm(join(this.dir, name), { recursive: true, force: true });
    }
  }

  /** Steps but the newest few and those that are to be kept. */
  async prunable(keep: (step: number) => boolean, newest: number): Promise<number[]> {
    return (await this.steps()).slice(0, -newest).filter((step) => !keep(step));
  }

  private async names(): Promise<string[]> {
    return readdir(this.dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
  }
}

/** What the checkpoint in a folder says of its run. Throws where that cannot be read. */
export async function readStateOf(dir: string): Promise<LearnerState> {
  const file = join(dir, 'state.json');
  const text = await readFile(file, 'utf8');
  let state: LearnerState;
  try {
    state = JSON.parse(text) as LearnerState;
  } catch (cause) {
    throw new Error(`${file} is not JSON: it was cut off or changed`, { cause });
  }
  if (state.format !== 1)
    throw new Error(`${file} has format ${String(state.format)}; this version reads format 1`);
  return state;
}
