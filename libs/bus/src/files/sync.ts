import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Puts a folder with all that it holds onto the disk: what a machine that loses its power keeps. */
export async function syncTree(dir: string): Promise<void> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) await sync(path, 'r+');
    else if (entry.isDirectory()) await syncFolder(path);
  }
  await syncFolder(dir);
}

/** Puts the names in a folder onto the disk: files that were created, renamed, or removed. */
export async function syncFolder(dir: string): Promise<void> {
  // Windows neither opens folders nor needs it.
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
