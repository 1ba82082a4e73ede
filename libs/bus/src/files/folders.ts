import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileStore } from './file-store';
import {
  filesIn,
  MANIFEST_FILE,
  writeManifest,
  type Digest,
  type FolderManifest,
  type ManifestFile,
} from './manifest';
import { syncFolder, syncTree } from './sync';

/** Number of concurrent file transfers of a folder. */
const PARALLEL = 4;

/** Uploads the files of a folder that does not change meanwhile; `put` receives each path relative to the folder. */
export async function uploadFolder(
  dir: string,
  put: (path: string) => Promise<Digest>,
): Promise<FolderManifest> {
  const files: ManifestFile[] = [];
  await inParallel(await filesIn(dir), async (path) => {
    files.push({ path, ...(await put(path)) });
  });
  return { format: 1, files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
}

/**
 * Downloads a stored folder with its manifest. The folder appears complete or not at all; an existing one was
 * downloaded by another process meanwhile.
 */
export async function downloadFolder(
  store: FileStore,
  manifest: FolderManifest,
  dir: string,
  options: { nameOf: (file: ManifestFile) => string },
): Promise<void> {
  const aside = `${dir}.${randomUUID().slice(0, 8)}.writing`;
  try {
    await mkdir(aside, { recursive: true });
    await inParallel(manifest.files, async (file) => {
      await mkdir(dirname(join(aside, file.path)), { recursive: true });
      await store.getFile(options.nameOf(file), join(aside, file.path), file);
    });
    await writeFile(join(aside, MANIFEST_FILE), writeManifest(manifest));
    await syncTree(aside);
    await rename(aside, dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
    await syncFolder(dirname(dir));
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
}
