import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BusError } from '../errors';
import type { FileStore } from './file-store';
import { downloadFolder, uploadFolder } from './folders';
import { digestOf, digestOfBytes, readManifest, writeManifest, type Digest } from './manifest';

/** Where a file or folder that somebody shared can be had: `uirl://file/<sha256>/tasks.jsonl`, `uirl://folder/<sha256>/adapter`. */
interface SharedFile {
  kind: 'file' | 'folder';
  /** Of the file, or of the folder's manifest. Hex. */
  sha256: string;
  /** What it was called, so that programs that look at endings find theirs. */
  name: string;
}

const ADDRESS = /^uirl:\/\/(file|folder)\/([0-9a-f]{64})\/([A-Za-z0-9_][A-Za-z0-9_.+@-]{0,127})$/;

/** Whether a text is the address of a shared file or folder. */
export function isSharedFile(text: string): boolean {
  return parseAddress(text) !== undefined;
}

function parseAddress(address: string): SharedFile | undefined {
  const [, kind, sha256, name] = ADDRESS.exec(address) ?? [];
  return kind === undefined ? undefined : { kind: kind as SharedFile['kind'], sha256, name };
}

/**
 * Files and folders that people name on their own machines, stored by content, so that services on other machines can have them
 * under the same address. They are kept until somebody deletes them.
 */
export class SharedFiles {
  constructor(private readonly store: FileStore) {}

  /** Stores a file or folder and returns its address. Throws `BusError` `configuration` where there is none. */
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
    return `uirl://${kind}/${sha256}/${name === '' ? kind : name}`;
  }

  /**
   * The path of a local copy, which is made where the cache has none.
   * Throws `BusError` `configuration` for what is no address, `missing`, or `damaged` where the content is another one.
   */
  async fetch(address: string, cacheDir: string): Promise<string> {
    const shared = parseAddress(address);
    if (shared === undefined)
      throw new BusError('configuration', `"${address}" is no address such as uirl://file/<sha256>/<name>`);
    const path = join(cacheDir, 'files', shared.sha256, shared.name);
    if (await exists(path)) return path;
    if (shared.kind === 'file') await this.fetchFile(shared.sha256, path);
    else await this.fetchFolder(shared.sha256, path);
    return path;
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
    if (digest === null) throw absent(sha256);
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
    if (bytes === null) throw absent(sha256);
    if (digestOfBytes(bytes).sha256 !== sha256)
      throw new BusError('damaged', `the manifest ${sha256} of a shared folder has another content`);
    const manifest = readManifest(bytes, `the manifest ${sha256} of a shared folder`);
    await downloadFolder(this.store, manifest, dir, { nameOf: (file) => file.sha256 });
  }
}

function absent(sha256: string): BusError {
  return new BusError(
    'missing',
    `nobody has shared a file with sha256 ${sha256} at this broker, or it was deleted`,
  );
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
