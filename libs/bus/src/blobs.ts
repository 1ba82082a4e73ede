import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isRunId } from '@ui-rl/contracts';
import type { Broker } from './broker';
import { BusError } from './errors';
import { MAX_PARTED_BYTES } from './parts';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

const SHA256 = /^[0-9a-f]{64}$/;
const KNOWN_BLOBS = 65_536;
const KNOWN_RUNS = 1_024;

/** Where blobs are stored: at the broker, or in an S3 bucket. */
export interface BlobPlace {
  write(runId: string, hash: string, bytes: Uint8Array): Promise<void>;
  read(runId: string, hash: string): Promise<Uint8Array | null>;
}

/** Blobs of runs by their sha256 (hex): screenshots, and messages larger than the broker accepts. */
export class BlobStore {
  private readonly known = new LRUCache<string, true>({ max: KNOWN_BLOBS });
  private readonly inFlight = new Map<string, Promise<void>>();
  /** Runs for which all services were verified to use the same storage. */
  private readonly agreed = new LRUCache<string, Promise<void>>({ max: KNOWN_RUNS });

  constructor(
    broker: Broker,
    private readonly place: BlobPlace,
    private readonly agree: () => Promise<void>,
  ) {
    // The broker may have lost stored blobs.
    broker.onStoresLost(() => {
      this.known.clear();
      this.agreed.clear();
    });
  }

  /** The blobs of one run, which are deleted with it. Throws `BusError` `configuration` for an invalid run id. */
  of(runId: string): RunBlobs {
    if (!isRunId(runId)) throw new BusError('configuration', `"${runId}" is not a run id`);
    return {
      put: (bytes, hash = sha256(bytes)) => this.put(runId, bytes, hash),
      get: (hash) => this.get(runId, hash),
    };
  }

  private async put(runId: string, bytes: Uint8Array, hash: string): Promise<string> {
    if (!SHA256.test(hash)) throw new BusError('configuration', `"${hash}" is no sha256`);
    const blob = `${runId}/${hash}`;
    if (this.known.has(blob)) return hash;
    let upload = this.inFlight.get(blob);
    if (upload === undefined) {
      upload = this.upload(runId, hash, bytes).finally(() => this.inFlight.delete(blob));
      this.inFlight.set(blob, upload);
    }
    await upload;
    return hash;
  }

  private async upload(runId: string, hash: string, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > MAX_PARTED_BYTES)
      throw new BusError(
        'too_large',
        `a blob of ${bytes.byteLength} bytes: expected at most ${MAX_PARTED_BYTES}`,
      );
    await this.agreedFor(runId);
    // Each process writes a blob again on its first use: the stored copy may be damaged.
    await this.place.write(runId, hash, bytes);
    this.known.set(`${runId}/${hash}`, true);
  }

  private async get(runId: string, hash: string): Promise<Uint8Array | null> {
    // Hashes arrive in untrusted messages: one with a wildcard would name blobs of other runs.
    if (!SHA256.test(hash)) return null;
    await this.agreedFor(runId);
    const bytes = await this.place.read(runId, hash);
    if (bytes === null) return null;
    const found = sha256(bytes);
    if (found !== hash)
      throw new BusError('damaged', `blob ${hash} is damaged: its content hashes to ${found}`);
    return bytes;
  }

  /** Throws `BusError` `configuration` if other services store blobs elsewhere: they could not read each other's. */
  private async agreedFor(runId: string): Promise<void> {
    let agreed = this.agreed.get(runId);
    if (agreed === undefined) {
      agreed = this.agree();
      this.agreed.set(runId, agreed);
      agreed.catch(() => this.agreed.delete(runId));
    }
    await agreed;
  }
}

export interface RunBlobs {
  /** Stores the bytes if they are missing and returns their hash. Pass the hash if it is known. */
  put(bytes: Uint8Array, hash?: string): Promise<string>;
  /** The bytes; null if they are not stored for this run. Throws `BusError` `damaged`. */
  get(hash: string): Promise<Uint8Array | null>;
}
