import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findDamage, syncFolder, syncTree } from '@ui-rl/bus';
import { stepFolder, type BaseModel, type GroupResult } from '@ui-rl/contracts';
import type { GuardState } from '../training/guard/guard-state';

/** The run state in a checkpoint (`state.json`), besides weights and optimizer. */
export interface LearnerState {
  format: 1;
  runId: string;
  /** Lease epoch of the learner that wrote it (`RunLease`); absent if it predates leases. */
  epoch?: number;
  /** The base model of the weights. */
  model: BaseModel;
  /** Device of the run's first start, as its engine names it; absent in files of an older version. */
  device?: string | undefined;
  /** Number of trained steps, one batch each. */
  step: number;
  /** Number of leading steps that are the warm start; absent without one. */
  warmStartSteps?: number;
  /** Digest of the weights that sampled at each step, by step; trajectories with any other are rejected. */
  digests: Record<string, string>;
  /** Indices of groups whose episodes were trained on or dropped, as ranges: `0-79,81`. */
  settledGroups: string;
  /**
   * Number of replaced groups so far, in addition to `groups_per_batch` per step: without learning signal, or without
   * a valid episode.
   */
  replacedGroups: number;
  counts: { trajectories: number; invalid: number; trainedEpisodes: number; trainedTokens: number };
  /** ISO 8601. */
  savedAt: string;
  /** The last step, so that it can be reported again; without the times of the checkpoint that contains this. */
  lastStep: {
    epoch?: number;
    rolloutIds: string[];
    groups?: GroupResult[];
    metrics: Record<string, number>;
  } | null;
  /** State of the collapse guard; absent in files of an older version. */
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

  /** Folder in which the learner of that epoch writes a step's checkpoint: no other learner writes there. */
  stagingOf(step: number, epoch: number): string {
    return `${this.pathOf(step)}.${epoch}${STAGING}`;
  }

  /** Steps with a checkpoint, in order. Excludes folders in progress and those that were set aside. */
  async steps(): Promise<number[]> {
    const names = await this.names();
    return names
      .filter((name) => NAME.test(name))
      .map(Number)
      .toSorted((a, b) => a - b);
  }

  /**
   * Moves a complete folder to the place of a step's checkpoint, once it is flushed to disk. An existing one there
   * was left by a learner that ended, or was superseded, before announcing it.
   * @param mayPlace called last; rejects if this learner has been superseded
   */
  async place(step: number, finished: string, mayPlace?: () => Promise<void>): Promise<void> {
    await syncTree(finished);
    await mayPlace?.();
    await this.remove(step);
    await rename(finished, this.pathOf(step));
    await syncFolder(this.dir);
  }

  /** Describes the damage of a checkpoint; undefined if it is intact. */
  async damageOf(step: number): Promise<string | undefined> {
    const damage = await findDamage(this.pathOf(step));
    if (damage !== undefined) return damage;
    return this.readState(step).then(
      () => undefined,
      (error: Error) => error.message,
    );
  }

  /** Keeps a damaged checkpoint for inspection. @returns its new path */
  async setAside(step: number): Promise<string> {
    const aside = `${this.pathOf(step)}${DAMAGED}`;
    await rm(aside, { recursive: true, force: true });
    await rename(this.pathOf(step), aside);
    return aside;
  }

  /** Steps whose checkpoints were set aside. */
  async damagedSteps(): Promise<number[]> {
    const names = (await this.names()).filter((name) => name.endsWith(DAMAGED));
    return names.map((name) => Number(name.slice(0, -DAMAGED.length))).filter(Number.isInteger);
  }

  /** The newest step with an intact checkpoint; undefined if there is none. */
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

  /** Removes leftovers of learners that ended while writing. */
  async sweep(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    for (const name of await this.names()) {
      if (name.endsWith(STAGING)) await rm(join(this.dir, name), { recursive: true, force: true });
    }
  }

  /** All steps except the newest few and those to keep. */
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

/** The run state in a checkpoint folder. Throws if it cannot be read. */
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
