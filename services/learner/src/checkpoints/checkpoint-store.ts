import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BusError,
  manifestOf,
  MANIFEST_FILE,
  writeManifest,
  type CheckpointArchive,
  type Lease,
  type StoredCheckpoint,
} from '@ui-rl/bus';
import { stepFolder, type PolicyState } from '@ui-rl/contracts';
import { readStateOf, type CheckpointFolder } from './checkpoint-folder';
import type { LearnerState } from './learner-state';

/** The checkpoints to upload to the object store: those of every step, those that are kept, or none. */
export type Uploads = 'all' | 'kept' | 'none';

/** A run cannot resume here: the checkpoint that it announced last is on another machine. */
export class CheckpointElsewhere extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointElsewhere';
  }
}

/** The policy that a run announced last. */
export type Announced = Pick<PolicyState, 'version' | 'adapterDigest'>;

/** The state from which a run resumes. */
export interface ResumePoint {
  /** undefined for a new run. */
  state: LearnerState | undefined;
  /** Whether checkpoints of announced steps are damaged: the episodes of those steps are needed once more. */
  wentBack: boolean;
}

export interface CheckpointStoreOptions {
  runId: string;
  uploads: Uploads;
  /** Lease of the run. */
  lease: Pick<Lease, 'epoch' | 'confirm' | 'ensure'>;
  /** Whether the run file keeps a step's checkpoint regardless of its age. */
  keeps: (step: number) => boolean;
  /** Called for each damaged checkpoint. */
  warn: (message: string, step: number) => Promise<void>;
}

/** A run's checkpoints: on this machine, and in the object store, where other machines find them. */
export class CheckpointStore {
  /** Steps in the object store that belong to the current lineage of the run. */
  private uploaded = new Set<number>();
  /** Steps to keep in addition to those of the options. */
  private readonly kept = new Set<number>();

  constructor(
    readonly folder: CheckpointFolder,
    private readonly archive: CheckpointArchive,
    private readonly options: CheckpointStoreOptions,
  ) {}

  /** Whether a step's checkpoint is kept regardless of its age. */
  keeps(step: number): boolean {
    return this.kept.has(step) || this.options.keeps(step);
  }

  /** Also keeps a step's checkpoint. */
  keep(step: number): void {
    this.kept.add(step);
  }

  /**
   * Finds the newest intact checkpoint that follows from the announced state, here or in the object store; if both
   * have a step, the uploaded one takes precedence. Skips damaged ones with a warning. Removes those that do not
   * follow: a learner left them that ended, or was superseded, before announcing them.
   * @param announced the run's last announcement; null if there was none
   * @throws CheckpointElsewhere
   */
  async resume(announced: Announced | null): Promise<ResumePoint> {
    const { runId, lease } = this.options;
    await this.archive.sweep(runId, lease.epoch);
    await this.folder.sweep();
    this.uploaded = new Set(await this.archive.steps(runId));
    const steps = new Set([...this.uploaded, ...(await this.folder.steps())]);
    // Includes those of an earlier start, which may have ended before it announced the step to which it went back.
    const damaged = await this.folder.damagedSteps();
    let state: LearnerState | undefined;
    for (const step of [...steps].toSorted((a, b) => b - a)) {
      state = await this.take(step, announced, damaged);
      if (state !== undefined) break;
    }
    if (state !== undefined) await this.removeOthers(state);
    return this.pointOf(state, announced, damaged);
  }

  /**
   * Writes the checkpoint of a step, which is flushed to this machine's disk when this resolves.
   * @param write fills a folder that does not exist yet
   * @throws LeaseLost without changing anything
   */
  async save(step: number, write: (dir: string) => Promise<unknown>): Promise<void> {
    const { lease } = this.options;
    const staging = this.folder.stagingOf(step, lease.epoch);
    try {
      await write(staging);
      await writeFile(join(staging, MANIFEST_FILE), writeManifest(await manifestOf(staging)));
      await this.folder.place(step, staging, () => lease.confirm());
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  /**
   * Publishes a saved checkpoint under its address, if it is one of those that are uploaded.
   * @param last whether the run ends with it
   * @throws LeaseLost
   */
  async publish(step: number, { last = false } = {}): Promise<void> {
    const { runId, uploads, lease } = this.options;
    const wanted = uploads === 'all' || (uploads === 'kept' && (last || this.keeps(step)));
    if (!wanted || this.uploaded.has(step)) return;
    await lease.confirm();
    await this.archive.upload({ runId, step }, this.folder.pathOf(step), lease.epoch);
    this.uploaded.add(step);
  }

  /**
   * Deletes all checkpoints except the newest few and those that are kept, here and in the object store.
   * @param forget called with its folder before the last copy of one is deleted
   * @param best the step to which the run may go back: kept as well
   * @throws LeaseLost
   */
  async prune(
    newest: number,
    forget: (dir: string) => Promise<void> = () => Promise.resolve(),
    best: number | null = null,
  ): Promise<void> {
    const { runId, lease } = this.options;
    const keeps = (step: number): boolean => step === best || this.keeps(step);
    await lease.ensure();
    const steps = [...this.uploaded].toSorted((a, b) => a - b);
    for (const step of steps.slice(0, -newest)) {
      if (keeps(step)) continue;
      await this.archive.delete({ runId, step });
      this.uploaded.delete(step);
    }
    for (const step of await this.folder.prunable(keeps, newest)) {
      if (!this.uploaded.has(step)) await forget(this.folder.pathOf(step));
      await this.folder.remove(step);
    }
  }

  /** The folder of an earlier checkpoint, downloaded if it is not local; undefined if neither place has it intact. */
  async find(step: number): Promise<string | undefined> {
    const damaged: number[] = [];
    const found = (await this.findLocal(step, damaged)) ?? (await this.findUploaded(step, damaged));
    if (found === undefined) return undefined;
    const place = this.folder.pathOf(step);
    if (found !== place) await this.folder.place(step, found);
    return place;
  }

  /**
   * Moves a step's checkpoint to its place, from the object store or locally; undefined if the run cannot resume from
   * it.
   */
  private async take(
    step: number,
    announced: Announced | null,
    damaged: number[],
  ): Promise<LearnerState | undefined> {
    const uploaded = await this.adopt(step, await this.findUploaded(step, damaged), announced);
    if (uploaded !== undefined) return uploaded;
    this.uploaded.delete(step);
    const own = await this.adopt(step, await this.findLocal(step, damaged), announced);
    if (own === undefined) await this.folder.remove(step);
    return own;
  }

  /** Moves a found folder to its place; undefined if the run cannot resume from it. */
  private async adopt(
    step: number,
    found: string | undefined,
    announced: Announced | null,
  ): Promise<LearnerState | undefined> {
    if (found === undefined) return undefined;
    const state = await readStateOf(found);
    if (!follows(state, announced)) return undefined;
    if (found !== this.folder.pathOf(step)) await this.folder.place(step, found);
    return state;
  }

  /** The folder of an uploaded checkpoint: the local one if it is identical, else a download. */
  private async findUploaded(step: number, damaged: number[]): Promise<string | undefined> {
    const { runId, lease } = this.options;
    if (!this.uploaded.has(step)) return undefined;
    try {
      const stored = await this.archive.find({ runId, step });
      if (stored === null) return undefined;
      if (await this.isHere(stored)) return this.folder.pathOf(step);
      const staging = this.folder.stagingOf(step, lease.epoch);
      await this.archive.download(stored, staging);
      return staging;
    } catch (error) {
      if (!(error instanceof BusError) || !['damaged', 'missing'].includes(error.category)) throw error;
      damaged.push(step);
      await this.warn(step, 'in the object store', error.message);
      return undefined;
    }
  }

  private async findLocal(step: number, damaged: number[]): Promise<string | undefined> {
    if (!(await this.folder.steps()).includes(step)) return undefined;
    const damage = await this.folder.damageOf(step);
    if (damage === undefined) return this.folder.pathOf(step);
    damaged.push(step);
    await this.warn(step, `now ${await this.folder.setAside(step)}`, damage);
    return undefined;
  }

  private async isHere({ step, manifest }: StoredCheckpoint): Promise<boolean> {
    const file = join(this.folder.pathOf(step), MANIFEST_FILE);
    const own = await readFile(file).catch(() => undefined);
    const isSame = own !== undefined && writeManifest(manifest).equals(own);
    return isSame && (await this.folder.damageOf(step)) === undefined;
  }

  /**
   * Removes older steps of another lineage, left from before this machine's learner was superseded and others
   * continued.
   */
  private async removeOthers({ step: newest, digests }: LearnerState): Promise<void> {
    for (const step of await this.folder.steps()) {
      if (step >= newest || digests[step] === undefined) continue;
      const own = await this.folder.readState(step).catch(() => undefined);
      if (own !== undefined && own.digests[step] !== digests[step]) await this.folder.remove(step);
    }
  }

  private pointOf(
    state: LearnerState | undefined,
    announced: Announced | null,
    damaged: readonly number[],
  ): ResumePoint {
    const reached = announced?.version ?? 0;
    const wentBack = (state?.step ?? 0) < reached;
    const wasHere = damaged.some((step) => step >= reached);
    if (wentBack && (state === undefined || !wasHere)) throw this.elsewhere(reached, state?.step);
    return { state, wentBack };
  }

  private async warn(step: number, where: string, why: string): Promise<void> {
    const { runId, warn } = this.options;
    const name = `checkpoint ${stepFolder(step)} of run ${runId}`;
    await warn(`${name} is damaged and passed over (${where}): ${why}`, step);
  }

  private elsewhere(announced: number, found: number | undefined): CheckpointElsewhere {
    const { runId } = this.options;
    const newest = found === undefined ? 'none' : `${stepFolder(found)} as the newest`;
    return new CheckpointElsewhere(
      `run ${runId} has reached step ${announced}, but ${this.folder.dir} and the object store have ${newest}: ` +
        'start the learner where the run was trained, or begin a new run from a checkpoint (model.load_checkpoint)',
    );
  }
}

/**
 * Whether a run can resume from a checkpoint after its announcement: the announced weights must be in the
 * checkpoint's history.
 */
function follows({ step, digests }: LearnerState, announced: Announced | null): boolean {
  if (announced === null || step < announced.version) return true;
  return digests[announced.version] === announced.adapterDigest;
}
