import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunId, type Trajectory } from '@ui-rl/contracts';
import { randomUUID } from 'node:crypto';
import { RecordsError } from './errors';

const SHA256 = /^[0-9a-f]{64}$/;

/** Screenshots of recorded episodes as files `<run>/<sha256>.png` in a folder beside an embedded database. */
export class ScreenshotFolder {
  constructor(readonly folder: string) {}

  /** Whether the screenshot is stored; false for an invalid name. */
  async has(runId: string, hash: string): Promise<boolean> {
    const file = this.fileOf(runId, hash);
    return (
      file !== null &&
      (await stat(file).then(
        () => true,
        () => false,
      ))
    );
  }

  /** PNG bytes; null if they are not stored. */
  async read(runId: string, hash: string): Promise<Buffer | null> {
    const file = this.fileOf(runId, hash);
    if (file === null) return null;
    return readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
  }

  /** Stores PNG bytes, completely or not at all. @throws RecordsError `configuration` for an invalid name */
  async write(runId: string, hash: string, bytes: Uint8Array): Promise<void> {
    const file = this.fileOf(runId, hash);
    if (file === null) throw new RecordsError('configuration', `invalid screenshot ${runId}/${hash}`);
    await mkdir(join(this.folder, runId), { recursive: true });
    const draft = join(this.folder, runId, `.${randomUUID()}`);
    await writeFile(draft, bytes);
    await rename(draft, file);
  }

  /** Deletes the screenshots of a run. */
  async delete(runId: string): Promise<void> {
    if (isRunId(runId)) await rm(join(this.folder, runId), { recursive: true, force: true });
  }

  /** Bytes that the screenshots of one run take up. */
  async sizeOf(runId: string): Promise<number> {
    return isRunId(runId) ? folderBytes(join(this.folder, runId)) : 0;
  }

  /** Bytes that all screenshots take up. */
  size(): Promise<number> {
    return folderBytes(this.folder);
  }

  private fileOf(runId: string, hash: string): string | null {
    return isRunId(runId) && SHA256.test(hash) ? join(this.folder, runId, `${hash}.png`) : null;
  }
}

/** The screenshots that an episode's page shows, each once. */
export function screenshotsOf({ turns, finalScreenshot }: Trajectory): string[] {
  const shown = turns.flatMap(({ screenshot, promptImages }) => [screenshot, ...promptImages]);
  return [...new Set(finalScreenshot === undefined ? shown : [...shown, finalScreenshot])];
}

/** Bytes of all files below a folder; 0 if there is none. Files that vanish meanwhile do not count. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await folderBytes(path);
    else if (entry.isFile())
      bytes += await stat(path)
        .then(({ size }) => size)
        .catch(() => 0);
  }
  return bytes;
}
