import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findDamage, instantiate, syncFolder, syncTree } from '@ui-rl/bus';
import { stepFolder } from '@ui-rl/contracts';
import { LearnerState } from './learner-state';

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
  let plain: unknown;
  try {
    plain = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not JSON: it was cut off or changed`, { cause });
  }
  if (typeof plain !== 'object' || plain === null)
    throw new Error(`${file} holds no state, but ${text.slice(0, 60)}`);
  const { format } = plain as { format?: unknown };
  if (format !== 1) throw new Error(`${file} has format ${String(format)}; this version reads format 1`);
  const read = instantiate(plain, LearnerState);
  if (!read.ok) throw new Error(`${file}: ${read.reason}`);
  return read.value;
}
