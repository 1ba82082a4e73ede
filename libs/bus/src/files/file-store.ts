import { BusError } from '../errors';
import type { Digest } from './manifest';

export interface StoredFile {
  name: string;
  sizeBytes: number;
}

/** Files of any size by name, at the broker or in an S3 bucket. */
export interface FileStore {
  /** Stores the bytes under the name; replaces an existing file. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Stores a local file under the name; replaces an existing file. An interrupted transfer restarts. */
  putFile(name: string, path: string): Promise<Digest>;
  /** The bytes of a file that fits into memory; null if it does not exist. Throws `BusError` `damaged`. */
  get(name: string): Promise<Uint8Array | null>;
  /** Digest of the file; null if it does not exist. */
  digest(name: string): Promise<Digest | null>;
  /**
   * Downloads a file to `path`, which must not exist; resumes after the store was unavailable. Throws `BusError`
   * `missing`, or `damaged` if the content differs from the expected digest.
   */
  getFile(name: string, path: string, expected: Digest): Promise<void>;
  /** All files whose names start with the prefix. */
  list(prefix?: string): Promise<StoredFile[]>;
  /** Deletes the file without leaving a marker: deletions happen every step, and markers would accumulate. */
  delete(name: string): Promise<void>;
  /**
   * Deletes leftovers of uploads that were interrupted by the end of their process.
   * @returns the number of deleted uploads
   */
  sweep(olderThanMs?: number): Promise<number>;
}

/** Throws `BusError` `damaged` if the digests differ. */
export function compareDigests(place: string, found: Digest, expected: Digest): void {
  if (found.sha256 === expected.sha256) return;
  const say = ({ sizeBytes, sha256 }: Digest): string => `${sizeBytes} bytes with sha256 ${sha256}`;
  throw new BusError('damaged', `${place} has ${say(found)}, expected ${say(expected)}`);
}
