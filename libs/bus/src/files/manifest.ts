import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BusError } from '../errors';

/** Content of a file, independent of its name. */
export interface Digest {
  sizeBytes: number;
  /** Hex. */
  sha256: string;
}

export interface ManifestFile extends Digest {
  /** Relative to the folder, with `/`. */
  path: string;
}

/** The contents of a stored folder, sorted by path. */
export interface FolderManifest {
  format: 1;
  files: ManifestFile[];
}

/** Stored beside the files that it lists, in the object store as the last one: a folder without it is incomplete. */
export const MANIFEST_FILE = 'manifest.json';

const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9_.+@-]{0,127}$/;
const MAX_DEPTH = 4;
const MAX_FILES = 4096;

export async function digestOf(file: string): Promise<Digest> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return { sizeBytes: (await stat(file)).size, sha256: hash.digest('hex') };
}

export function digestOfBytes(bytes: Uint8Array): Digest {
  return { sizeBytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/**
 * Sorted paths of the files in a folder that can be stored, without hidden files and an old manifest. Throws
 * `BusError` `configuration` if there are none or too many, or if a name is not valid on every platform.
 */
export async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name).slice(dir.length).replaceAll('\\', '/').replace(/^\//, ''),
    )
    .filter((path) => path !== MANIFEST_FILE && !path.split('/').some((segment) => segment.startsWith('.')))
    .toSorted();
  const odd = paths.find((path) => !isConfined(path));
  if (odd !== undefined) {
    throw new BusError(
      'configuration',
      `${join(dir, odd)} cannot be stored: expected names of letters, digits and . _ + @ -, at most ${MAX_DEPTH} levels deep`,
    );
  }
  if (paths.length > 0 && paths.length <= MAX_FILES) return paths;
  throw new BusError('configuration', `${dir} holds ${paths.length} files, expected 1 to ${MAX_FILES}`);
}

/** Reads a folder that does not change meanwhile. */
export async function manifestOf(dir: string): Promise<FolderManifest> {
  const files: ManifestFile[] = [];
  for (const path of await filesIn(dir)) files.push({ path, ...(await digestOf(join(dir, path))) });
  return { format: 1, files };
}

/** Describes a difference between a folder and its manifest; undefined if there is none. Reads every file. */
export async function findDamage(dir: string): Promise<string | undefined> {
  const file = join(dir, MANIFEST_FILE);
  try {
    const { files } = readManifest(await readFile(file), file);
    for (const { path, sizeBytes, sha256 } of files) {
      const found = await digestOf(join(dir, path));
      if (found.sha256 === sha256) continue;
      return `${path} has ${found.sizeBytes} bytes with sha256 ${found.sha256}, expected ${sizeBytes} with ${sha256}`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof BusError || isUnreadable(error)) return (error as Error).message;
    throw error;
  }
}

function isUnreadable(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'EIO';
}

export function writeManifest(manifest: FolderManifest): Buffer {
  return Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
}

/** Parses an untrusted manifest. Throws `BusError` `damaged`, for example for a path that leaves the folder. */
export function readManifest(bytes: Uint8Array, where: string): FolderManifest {
  let manifest: Partial<FolderManifest>;
  try {
    manifest = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<FolderManifest>;
  } catch (cause) {
    throw new BusError('damaged', `${where} is not JSON`, { cause });
  }
  const { format, files } = manifest;
  if (format !== 1 || !Array.isArray(files) || files.length === 0 || files.length > MAX_FILES)
    throw new BusError('damaged', `${where}: expected a manifest of format 1 with 1 to ${MAX_FILES} files`);
  const wrong = files.find((file) => !isManifestFile(file));
  if (wrong !== undefined)
    throw new BusError('damaged', `${where}: ${JSON.stringify(wrong)} is not a file of a folder`);
  const paths = new Set(files.map(({ path }) => path.toLowerCase()));
  if (paths.size !== files.length) throw new BusError('damaged', `${where} names a file twice`);
  return { format, files: files.map(({ path, sizeBytes, sha256 }) => ({ path, sizeBytes, sha256 })) };
}

function isManifestFile(file: unknown): file is ManifestFile {
  if (typeof file !== 'object' || file === null) return false;
  const { path, sizeBytes, sha256 } = file as Partial<ManifestFile>;
  return (
    typeof path === 'string' &&
    isConfined(path) &&
    path !== MANIFEST_FILE &&
    Number.isSafeInteger(sizeBytes) &&
    sizeBytes! >= 0 &&
    isSha256(sha256)
  );
}

export function isSha256(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
}

/** Whether a path stays inside its base folder on every platform. */
function isConfined(path: string): boolean {
  const segments = path.split('/');
  return segments.length <= MAX_DEPTH && segments.every((segment) => SEGMENT.test(segment));
}
