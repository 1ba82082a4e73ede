import { randomUUID } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Whether the owner of a claim has ended. @param renewedMs when the file was last renewed (`utimes`), in Unix
 * milliseconds
 */
export type IsGone = (owner: string, renewedMs: number) => boolean;

/** A claim, or its current owner. */
export type ClaimResult =
  { release: () => Promise<void>; holder?: undefined } | { holder: string; release?: undefined };

interface Found {
  owner: string;
  id: string;
  renewedMs: number;
}

const PAUSE_MS = 10;

/** Name of a temporary file: an id, and the owner. */
const ASIDE = /\.[0-9a-f-]{36}\.([\w%-]+)$/;

/** Claims that this process holds or is about to hold. */
const own = new Set<string>();

/**
 * Claims a file: among all processes that try, one holds it until it releases it or ends. The file is written under a
 * temporary name and linked to its name, so that it never appears incomplete.
 *
 * A claim whose owner has ended is replaced by a rename. Only the holder of the claim `<file>.after.<id>` may do so,
 * where the id is that of the file to replace: a process that read the file before another one replaced it finds
 * another id, and does not touch the file.
 */
export async function claimFile(file: string, owner: string, isGone: IsGone): Promise<ClaimResult> {
  const id = randomUUID();
  const aside = `${file}.${id}.${encodeURIComponent(owner)}`;
  own.add(id);
  let isHeld = false;
  try {
    await writeFile(aside, `${owner}\n${id}`, { flag: 'wx' });
    while (!isHeld) {
      isHeld = await isLinked(aside, file);
      if (isHeld) break;
      const found = await read(file);
      if (found === null) continue;
      if (own.has(found.id) || !isGone(found.owner, found.renewedMs)) return { holder: found.owner };
      isHeld = await replaces(aside, file, found, { owner, isGone });
      if (!isHeld) await sleep(PAUSE_MS);
    }
    await removeRemains(file, isGone);
  } finally {
    await rm(aside, { force: true });
    if (!isHeld) own.delete(id);
  }
  return {
    release: async () => {
      if ((await read(file))?.id === id) await rm(file, { force: true });
      own.delete(id);
    },
  };
}

async function isLinked(aside: string, file: string): Promise<boolean> {
  try {
    await link(aside, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether our file has replaced one whose owner has ended. */
async function replaces(
  aside: string,
  file: string,
  gone: Found,
  { owner, isGone }: { owner: string; isGone: IsGone },
): Promise<boolean> {
  const right = await claimFile(`${file}.after.${gone.id}`, owner, isGone);
  if (right.holder !== undefined) return false;
  try {
    if ((await read(file))?.id !== gone.id) return false;
    await rename(aside, file);
    return true;
  } finally {
    await right.release();
  }
}

/** Null if the file does not exist (any more). */
async function read(file: string): Promise<Found | null> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(file, 'utf8'), stat(file)]);
    // Earlier versions wrote only the owner.
    const [owner, id = encodeURIComponent(owner).slice(0, 64)] = text.split('\n');
    return { owner, id, renewedMs: mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes leftovers of processes that ended during an attempt. Rights to replace a file other than the current one
 * are void.
 */
async function removeRemains(file: string, isGone: IsGone): Promise<void> {
  const start = `${basename(file)}.`;
  const beside = (await readdir(dirname(file))).filter((name) => name.startsWith(start));
  for (const name of beside) {
    const path = join(dirname(file), name);
    const found = await read(path);
    if (found === null || own.has(found.id)) continue;
    // Its content may not be written yet; its name contains the owner, too.
    const owner = found.owner || decodeURIComponent(ASIDE.exec(name)?.[1] ?? '');
    if (owner !== '' && isGone(owner, found.renewedMs)) await rm(path, { force: true });
  }
}
