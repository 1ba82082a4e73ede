import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseSharedFileName, sharedFileName } from '@ui-rl/contracts';
import { BusError } from '../errors';
import type { FileStore } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { digestOf, digestOfBytes, readManifest, writeManifest, type Digest } from './manifest';

/**
 * Files and folders from users' machines, stored by content, so that services on other machines can read them under
 * the same address. They are kept until they are deleted explicitly.
 */
export class SharedFiles {
  constructor(private readonly store: FileStore) {}

  /** Stores a file or folder and returns its address. Throws `BusError` `configuration` if it does not exist. */
  async share(path: string): Promise<string> {
    const found = await stat(path).catch((cause: unknown) => {
      throw new BusError('configuration', `there is no file or folder ${path}`, { cause });
    });
    const kind = found.isDirectory() ? 'folder' : 'file';
    const { sha256 } = found.isDirectory() ? await this.shareFolder(path) : await this.shareFile(path);
    const name = basename(path)
      .replace(/[^A-Za-z0-9_.+@-]/g, '_')
      .replace(/^[^A-Za-z0-9_]/, '_')
      .slice(0, 128);
    return sharedFileName({ kind, sha256, name: name === '' ? kind : name });
  }

  /**
   * Path of a local copy, downloaded if it is not cached. Throws `BusError` `configuration` for an invalid address,
   * `missing`, or `damaged` if the content differs.
   */
  async fetch(address: string, cacheDir: string): Promise<string> {
    const shared = parseSharedFileName(address);
    if (shared === undefined)
      throw new BusError(
        'configuration',
        `"${address}" is not an address such as uirl://file/<sha256>/<name>`,
      );
    const path = join(cacheDir, 'files', shared.sha256, shared.name);
    if (await exists(path)) return path;
    if (shared.kind === 'file') await this.fetchFile(shared.sha256, path);
    else await this.fetchFolder(shared.sha256, path);
    return path;
  }

  /** Throws `BusError` `missing` if the address names nothing that was shared. */
  async check(address: string): Promise<void> {
    const shared = parseSharedFileName(address);
    if (shared === undefined || (await this.store.digest(shared.sha256)) === null) throw absent(address);
  }

  /** Deletes leftovers of interrupted uploads. */
  async sweep(): Promise<void> {
    await this.store.sweep();
  }

  private async shareFile(path: string): Promise<Digest> {
    const digest = await digestOf(path);
    if ((await this.store.digest(digest.sha256)) !== null) return digest;
    const stored = await this.store.putFile(digest.sha256, path);
    if (stored.sha256 === digest.sha256) return digest;
    await this.store.delete(digest.sha256);
    throw new BusError('damaged', `${path} was changed while it was being stored: try again`);
  }

  private async shareFolder(dir: string): Promise<Digest> {
    const bytes = writeManifest(await uploadFolder(dir, (path) => this.shareFile(join(dir, path))));
    const digest = digestOfBytes(bytes);
    if ((await this.store.digest(digest.sha256)) === null) await this.store.put(digest.sha256, bytes);
    return digest;
  }

  private async fetchFile(sha256: string, path: string): Promise<void> {
    const digest = await this.store.digest(sha256);
    if (digest === null) throw absent(`sha256 ${sha256}`);
    await mkdir(dirname(path), { recursive: true });
    const aside = `${path}.${randomUUID().slice(0, 8)}.writing`;
    try {
      await this.store.getFile(sha256, aside, { ...digest, sha256 });
      await rename(aside, path);
    } finally {
      await rm(aside, { force: true });
    }
  }

  private async fetchFolder(sha256: string, dir: string): Promise<void> {
    const bytes = await this.store.get(sha256);
    if (bytes === null) throw absent(`sha256 ${sha256}`);
    if (digestOfBytes(bytes).sha256 !== sha256)
      throw new BusError('damaged', `the manifest ${sha256} of a shared folder has another content`);
    const manifest = readManifest(bytes, `the manifest ${sha256} of a shared folder`);
    await downloadFolder(this.store, manifest, dir, { nameOf: (file) => file.sha256 });
  }
}

function absent(what: string): BusError {
  return new BusError('missing', `no user has shared ${what} at this broker, or it was deleted`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
