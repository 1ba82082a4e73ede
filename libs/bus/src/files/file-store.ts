import { BusError } from '../errors';
import type { Digest } from './manifest';

export interface StoredFile {
  name: string;
  sizeBytes: number;
}

/** Files by name, of any size, at the broker or in a bucket of S3. */
export interface FileStore {
  /** Stores the bytes under the name, over what was there. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Stores a file of this machine under the name, over what was there. A transfer that breaks off begins again. */
  putFile(name: string, path: string): Promise<Digest>;
  /** The bytes of a file that fits into memory, or null where there is none. Throws `BusError` `damaged`. */
  get(name: string): Promise<Uint8Array | null>;
  /** What is stored under the name, or null. */
  digest(name: string): Promise<Digest | null>;
  /**
   * Writes a file to `path`, which must not exist; goes on where it was when the store was away.
   * Throws `BusError` `missing`, or `damaged` where it has another content than expected.
   */
  getFile(name: string, path: string, expected: Digest): Promise<void>;
  /** Of all files whose name begins so. */
  list(prefix?: string): Promise<StoredFile[]>;
  /** Leaves no trace of the file, so that what is pruned every step costs nothing later. */
  delete(name: string): Promise<void>;
  /**
   * Frees what uploads left behind that were cut off by the end of their process.
   * @returns how many there were
   */
  sweep(olderThanMs?: number): Promise<number>;
}

/** Throws `BusError` `damaged` where what was read is not what was stored. */
export function compareDigests(place: string, found: Digest, expected: Digest): void {
  if (found.sha256 === expected.sha256) return;
  const say = ({ sizeBytes, sha256 }: Digest): string => `${sizeBytes} bytes with sha256 ${sha256}`;
  throw new BusError('damaged', `${place} has ${say(found)}, expected ${say(expected)}`);
}
