import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isRecord, type Log } from '@ui-rl/plugin-kit';
import type { Verdict } from './verdict';

/** Fraction of the folder's entries removed at once when it is full. */
const REMOVED_SHARE = 0.1;
const ENTRY = /^[0-9a-f]{64}\.json$/;

/**
 * Votes of earlier judgments, by digest of the judge's complete prompt: in memory, and in an optional folder that
 * several actors may share. Both have the same maximum number of entries. A folder that cannot be read or written
 * costs a repeated request, not the episode.
 */
export class VerdictCache {
  private readonly memory: LRUCache<string, readonly Verdict[]> | undefined;
  /** Entries of the folder, as far as this process knows. */
  private stored: number | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly entries: number,
    private readonly folder: string | undefined,
    private readonly log: Log,
  ) {
    this.memory = entries === 0 ? undefined : new LRUCache({ max: entries });
  }

  async get(digest: string): Promise<readonly Verdict[] | undefined> {
    if (this.memory === undefined) return undefined;
    const known = this.memory.get(digest) ?? (await this.read(digest));
    if (known !== undefined) this.memory.set(digest, known);
    return known;
  }

  async put(digest: string, votes: readonly Verdict[]): Promise<void> {
    this.memory?.set(digest, votes);
    if (this.memory === undefined || this.folder === undefined) return;
    const { folder } = this;
    // Sequential, since entries are counted.
    this.writing = this.writing
      .then(async () => this.write(folder, digest, votes))
      .catch((error: Error) => {
        this.log('warn', `JUDGE_CACHE_DIR: ${error.message}`);
      });
    await this.writing;
  }

  private async read(digest: string): Promise<readonly Verdict[] | undefined> {
    if (this.folder === undefined) return undefined;
    try {
      const read = JSON.parse(await readFile(join(this.folder, `${digest}.json`), 'utf8')) as unknown;
      return Array.isArray(read) && read.length > 0 && read.every(isVerdict) ? read : undefined;
    } catch {
      return undefined;
    }
  }

  /** Writes atomically. */
  private async write(folder: string, digest: string, votes: readonly Verdict[]): Promise<void> {
    await mkdir(folder, { recursive: true });
    this.stored ??= (await entriesOf(folder)).length;
    const unfinished = join(folder, `${digest}.${randomUUID()}.tmp`);
    await writeFile(unfinished, JSON.stringify(votes));
    await rename(unfinished, join(folder, `${digest}.json`));
    this.stored += 1;
    if (this.stored > this.entries) this.stored = await removeOldest(folder, this.entries);
  }
}

async function entriesOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => ENTRY.test(name));
}

/** Returns the number of remaining entries. */
async function removeOldest(folder: string, most: number): Promise<number> {
  const names = await entriesOf(folder);
  const excess = names.length - most;
  if (excess <= 0) return names.length;
  const aged = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(folder, name)).catch(() => undefined);
      return { name, at: found?.mtimeMs ?? 0 };
    }),
  );
  const removed = aged
    .toSorted((a, b) => a.at - b.at)
    .slice(0, Math.max(excess, Math.floor(most * REMOVED_SHARE)));
  await Promise.all(removed.map(async ({ name }) => rm(join(folder, name), { force: true })));
  return names.length - removed.length;
}

function isVerdict(value: unknown): value is Verdict {
  return isRecord(value) && typeof value.success === 'boolean' && typeof value.reason === 'string';
}
