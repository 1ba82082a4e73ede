import { BusError, type BusService, type RunBlobs } from '@ui-rl/bus';
import type { Trajectory } from '@ui-rl/contracts';
import { type ScreenshotFolder, screenshotsOf } from '@ui-rl/records';
import { RETRIES, retry } from '@ui-rl/retry';

/**
 * Screenshots of episodes: copied from the broker to a folder beside an embedded database, so that they outlive the
 * broker; else read where the services store them.
 */
export class Screenshots {
  private readonly stopping = new AbortController();

  constructor(
    private readonly bus: BusService | null,
    /** Null if the records are on a server, or the user configured a bucket. */
    private readonly folder: ScreenshotFolder | null,
  ) {}

  /** Copies the screenshots of an episode. Waits for a full disk without a limit, as recording does. */
  async keep(trajectory: Trajectory): Promise<void> {
    const { bus, folder } = this;
    if (bus === null || folder === null) return;
    const { runId } = trajectory.request;
    for (const hash of screenshotsOf(trajectory)) {
      if (await folder.has(runId, hash)) continue;
      const bytes = await readWhole(bus.blobs.of(runId), hash);
      if (bytes === null) continue;
      await retry(RETRIES.database, () => folder.write(runId, hash, bytes), {
        signal: this.stopping.signal,
        isTransient: () => true,
      });
    }
  }

  /** PNG bytes; null if they are nowhere. */
  async read(runId: string, hash: string): Promise<Uint8Array | null> {
    return (await this.folder?.read(runId, hash)) ?? (await this.bus?.blobs.of(runId).get(hash)) ?? null;
  }

  stop(): void {
    this.stopping.abort();
  }
}

/** Null if the broker lacks them, or has them damaged: the episode is recorded without. */
async function readWhole(blobs: RunBlobs, hash: string): Promise<Uint8Array | null> {
  try {
    return await blobs.get(hash);
  } catch (error) {
    if (error instanceof BusError && error.category === 'damaged') return null;
    throw error;
  }
}
