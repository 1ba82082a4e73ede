import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Flushes a folder and all its contents to disk, to survive a power failure. */
export async function syncTree(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) await sync(path, 'r+');
    else if (entry.isDirectory()) await syncFolder(path);
  }
  await syncFolder(dir);
}

/** Flushes the directory entries of a folder to disk: files that were created, renamed or removed. */
export async function syncFolder(dir: string): Promise<void> {
  // Windows cannot open folders and does not need this.
  if (process.platform !== 'win32') await sync(dir, 'r');
}

async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
