import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { describeError } from '@ui-rl/retry';
import { stepFolder } from '@ui-rl/contracts';
import type { Group } from '../episodes/groups';
import { groupPage } from './group-page';

export interface EpisodeLogOptions {
  runId: string;
  /** Folder of the run's readable episodes. */
  dir: string;
  /** Number of groups to write per step. */
  groups: number;
  /** The bytes of a screenshot; null if they are no longer available. */
  screenshot: (sha256: string) => Promise<Uint8Array | null>;
}

/** Number of steps whose groups are kept: the screenshots of all steps would fill a disk. */
const KEPT_STEPS = 100;

/**
 * Writes some groups of each step as readable pages, `episodes/000012/<group>.html`, with their screenshots beside
 * them.
 */
export class EpisodeLog {
  private readonly logger = new Logger('episodes');
  private writing: Promise<void> = Promise.resolve();
  private waiting = 0;

  constructor(private readonly options: EpisodeLogOptions) {}

  /** Training does not wait for it. A step that arrives while the previous one is being written is skipped. */
  add(step: number, groups: readonly Group[]): void {
    const chosen = groups.slice(0, this.options.groups);
    if (chosen.length === 0 || this.waiting > 0) return;
    this.waiting += 1;
    this.writing = this.write(step, chosen)
      .catch((error: unknown) =>
        this.logger.warn(`step ${step} has no readable episodes: ${describeError(error)}`),
      )
      .finally(() => (this.waiting -= 1));
  }

  /** Resolves when pending writes have completed. */
  close(): Promise<void> {
    return this.writing;
  }

  /** Drops everything that was written after `step`, for a resumed run. */
  async resume(step: number): Promise<void> {
    for (const folder of await this.steps()) {
      if (Number(folder) > step) await rm(join(this.options.dir, folder), { recursive: true, force: true });
    }
  }

  private async write(step: number, groups: readonly Group[]): Promise<void> {
    const { dir, runId } = this.options;
    const folder = join(dir, stepFolder(step));
    const draft = `${folder}.writing`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    for (const { id, trajectories: episodes } of groups) {
      const stored = await this.storeScreenshots(draft, episodes);
      const page = groupPage({ runId, step, id, episodes }, (sha256) =>
        stored.has(sha256) ? fileOf(sha256) : undefined,
      );
      await writeFile(join(draft, `${id}.html`), page);
    }
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    for (const old of (await this.steps()).slice(0, -KEPT_STEPS)) {
      await rm(join(dir, old), { recursive: true, force: true });
    }
  }

  private async storeScreenshots(folder: string, episodes: Group['trajectories']): Promise<Set<string>> {
    const shown = episodes.flatMap(({ turns, finalScreenshot }) => [
      ...turns.map(({ screenshot }) => screenshot),
      ...(finalScreenshot === undefined ? [] : [finalScreenshot]),
    ]);
    const stored = new Set<string>();
    for (const sha256 of new Set(shown)) {
      const png = await this.options.screenshot(sha256);
      if (png === null) continue;
      await writeFile(join(folder, fileOf(sha256)), png);
      stored.add(sha256);
    }
    return stored;
  }

  /** Folders of steps, oldest first. */
  private async steps(): Promise<string[]> {
    const entries = await readdir(this.options.dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return entries.filter((entry) => /^\d+$/.test(entry)).toSorted((a, b) => Number(a) - Number(b));
  }
}

function fileOf(sha256: string): string {
  return `${sha256}.png`;
}
