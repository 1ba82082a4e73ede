import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestOf, MANIFEST_FILE, writeManifest, type CheckpointArchive } from '@ui-rl/bus';
import { stepFolder } from '@ui-rl/contracts';
import type { CheckpointFolder, LearnerState } from './checkpoint-folder';

/** Which checkpoints go into the object store: every step's, those that are kept, or none. */
export type Uploads = 'all' | 'kept' | 'none';

/** A run cannot resume here: the checkpoint that it announced last lies on another machine. */
export class CheckpointElsewhere extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointElsewhere';
  }
}

export interface CheckpointStoreOptions {
  runId: string;
  uploads: Uploads;
  /** Whether a step's checkpoint stays, however old it is. */
  keeps: (step: number) => boolean;
}

/** A run's checkpoints: on this machine, and in the object store, where other machines find them. */
export class CheckpointStore {
  /** Steps in the object store. */
  private uploaded = new Set<number>();

  constructor(
    readonly folder: CheckpointFolder,
    private readonly archive: CheckpointArchive,
    private readonly options: CheckpointStoreOptions,
  ) {}

  /**
   * The state of the newest checkpoint, which is downloaded where another machine uploaded it; undefined for a run that begins.
   * Of a step that both have the uploaded one counts: the other was left by a learner that ended before it announced it.
   * @param announced step of the policy that was announced last, 0 for none
   * @throws CheckpointElsewhere
   */
  async resume(announced: number): Promise<LearnerState | undefined> {
    // A learner begins again after one that was killed, perhaps in the middle of an upload.
    await this.archive.sweep();
    this.uploaded = new Set(await this.archive.steps(this.options.runId));
    await this.discardStale();
    const newest = [...this.uploaded].toSorted((a, b) => a - b).at(-1);
    const local = (await this.folder.steps()).at(-1);
    if (newest !== undefined && newest > (local ?? -1)) await this.download(newest);
    const state = await this.folder.newest();
    if ((state?.step ?? 0) < announced) throw this.elsewhere(announced, state?.step);
    return state;
  }

  /**
   * Makes a saved checkpoint the one that its address means, here and, where it is uploaded, everywhere.
   * @param last whether the run ends with it
   */
  async publish(step: number, { last = false } = {}): Promise<void> {
    const { runId, uploads, keeps } = this.options;
    const wanted = uploads === 'all' || (uploads === 'kept' && (last || keeps(step)));
    const dir = this.folder.pathOf(step);
    if ((await this.isPublished(step)) && (!wanted || this.uploaded.has(step))) return;
    const manifest = wanted ? await this.archive.upload({ runId, step }, dir) : await manifestOf(dir);
    if (wanted) this.uploaded.add(step);
    const file = join(dir, MANIFEST_FILE);
    await writeFile(`${file}.writing`, writeManifest(manifest));
    await rename(`${file}.writing`, file);
  }

  /** Deletes checkpoints but the newest few and those that are kept, here and in the object store. */
  async prune(newest: number): Promise<void> {
    const { runId, keeps } = this.options;
    await this.folder.prune(keeps, newest);
    const steps = [...this.uploaded].toSorted((a, b) => a - b);
    for (const step of steps.slice(0, -newest)) {
      if (keeps(step)) continue;
      await this.archive.delete({ runId, step });
      this.uploaded.delete(step);
    }
  }

  /** Only the newest can be stale: a step is published before the next one is trained. */
  private async discardStale(): Promise<void> {
    const step = (await this.folder.steps()).at(-1);
    if (step === undefined || !(await this.isStale(step))) return;
    await rm(this.folder.pathOf(step), { recursive: true, force: true });
  }

  private async isStale(step: number): Promise<boolean> {
    const { runId } = this.options;
    const manifest = this.uploaded.has(step) ? await this.archive.manifest({ runId, step }) : null;
    if (manifest !== null) {
      return !writeManifest(manifest).equals(writeManifest(await manifestOf(this.folder.pathOf(step))));
    }
    return !(await this.isPublished(step)) && [...this.uploaded].some((uploaded) => uploaded > step);
  }

  private async isPublished(step: number): Promise<boolean> {
    const file = join(this.folder.pathOf(step), MANIFEST_FILE);
    return (await readFile(file).catch(() => undefined)) !== undefined;
  }

  private async download(step: number): Promise<void> {
    const { runId } = this.options;
    const manifest = await this.archive.manifest({ runId, step });
    if (manifest === null)
      throw new Error(`checkpoint ${step} of run ${runId} was deleted while it was looked for`);
    await this.archive.download({ runId, step }, manifest, this.folder.pathOf(step), { replace: true });
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
