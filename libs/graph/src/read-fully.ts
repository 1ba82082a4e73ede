import type { FileHandle } from 'node:fs/promises';

/** What is read at once: Node ends the process where one read is asked for 2 GiB or more. */
const MOST_BYTES = 2 ** 30;

/**
 * Fills an array with what lies in a file from a position on.
 * @returns bytes that were read: fewer than the array holds only where the file ends before
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
