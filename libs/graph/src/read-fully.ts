import type { FileHandle } from 'node:fs/promises';

/** Size of one read: Node aborts the process for a single read of 2 GiB or more. */
const MOST_BYTES = 2 ** 30;

/**
 * Fills an array with a file's bytes from a position on.
 * @returns number of bytes read: fewer than the array's length only at the end of the file
 */
export async function readFully(
  file: Pick<FileHandle, 'read'>,
  bytes: Uint8Array,
  position: number,
): Promise<number> {
  let done = 0;
  while (done < bytes.length) {
    const length = Math.min(MOST_BYTES, bytes.length - done);
    const { bytesRead } = await file.read(bytes, done, length, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}
