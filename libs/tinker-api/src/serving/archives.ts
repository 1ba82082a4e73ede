import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { ApiError } from '@ui-rl/openai-api';
import type { CheckpointAddress } from './checkpoints';

const VALID_MS = 15 * 60_000;
const MOST = 1024;
const BLOCK = 512;
/** Maximum value of the eleven octal digits in a header. */
const MOST_BYTES = 8 ** 11 - 1;

/** Path of an archive, which needs no key: only a request with a key receives this secret address. */
export const ARCHIVE_PATH = /^\/api\/v1\/archives\/[\w-]{43}(\?|$)/;

/** Addresses of archives, valid for a quarter of an hour each. */
export class Archives {
  private readonly offered = new Map<string, { address: CheckpointAddress; expiresAt: number }>();

  offer(address: CheckpointAddress): { token: string; expiresAt: number } {
    const now = Date.now();
    for (const [token, { expiresAt }] of this.offered) {
      if (expiresAt <= now || this.offered.size >= MOST) this.offered.delete(token);
    }
    const token = randomBytes(32).toString('base64url');
    const expiresAt = now + VALID_MS;
    this.offered.set(token, { address, expiresAt });
    return { token, expiresAt };
  }

  /** @throws ApiError 404 */
  find(token: string): CheckpointAddress {
    const found = this.offered.get(token);
    if (found !== undefined && found.expiresAt > Date.now()) return found.address;
    throw new ApiError(
      404,
      'this address of an archive has expired, or was never given out: ask for another one',
      'archive_not_found',
    );
  }
}

/** The files of a folder as a `.tar.gz`, read during sending. */
export function archiveOf(dir: string): Readable {
  return pipeline(Readable.from(tarBlocks(dir)), createGzip({ level: 1 }), () => undefined);
}

async function* tarBlocks(dir: string): AsyncGenerator<Uint8Array> {
  const files = (await readdir(dir, { withFileTypes: true })).filter((each) => each.isFile());
  for (const { name } of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { size, mtimeMs } = await stat(join(dir, name));
    yield tarHeader(name, size, mtimeMs);
    let read = 0;
    // Limited to the size in the header, in case the file grows meanwhile.
    if (size > 0) {
      for await (const piece of createReadStream(join(dir, name), { end: size - 1 })) {
        read += (piece as Buffer).length;
        yield piece as Buffer;
      }
    }
    if (read !== size) throw new Error(`${name} has changed while it was read`);
    yield new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield new Uint8Array(2 * BLOCK);
}

/** A header of the `ustar` format (POSIX.1-1988). */
function tarHeader(name: string, size: number, mtimeMs: number): Uint8Array {
  if (Buffer.byteLength(name) > 100 || size > MOST_BYTES)
    throw new Error(`${name} does not fit into an archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    header.write(
      `${Math.floor(value)
        .toString(8)
        .padStart(length - 1, '0')}\0`,
      at,
      'latin1',
    );
  };
  header.write(name, 0, 'utf8');
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(mtimeMs / 1000, 136, 12);
  header.write('        0', 148, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}
