import { STREAMS, subjects } from '@ui-rl/contracts';
import type { BlobPlace } from './blobs';
import type { Broker } from './broker';
import { readParts, writeParts, type PartsPlace } from './parts';
import { withRetry } from './retry';

/** Stores blobs as messages of the broker. Every operation waits while the broker is unavailable. */
export class BrokerBlobs implements BlobPlace {
  constructor(private readonly broker: Broker) {}

  async write(runId: string, hash: string, bytes: Uint8Array): Promise<void> {
    await withRetry(`store blob ${hash}`, this.broker, () =>
      writeParts(this.broker, placeOf(runId, hash), bytes),
    );
  }

  async read(runId: string, hash: string): Promise<Uint8Array | null> {
    return withRetry(`read blob ${hash}`, this.broker, () => readParts(this.broker, placeOf(runId, hash)));
  }
}

function placeOf(runId: string, hash: string): PartsPlace {
  return { stream: STREAMS.blobs, subjectOf: (part) => subjects.blob(runId, hash, part) };
}
