import type { Trajectory } from '@ui-rl/contracts';
import { imageSize } from '@ui-rl/image-decoding';
import type { Observation } from '@ui-rl/plugin-kit';
import type { EpisodeSource } from './source';

/** The screenshots of a recorded episode as rewards see them. */
export class StoredScreenshots {
  private readonly sizes = new Map<string, { width: number; height: number }>();

  private constructor(private readonly source: EpisodeSource) {}

  static async of({ turns, finalScreenshot }: Trajectory, source: EpisodeSource): Promise<StoredScreenshots> {
    const stored = new StoredScreenshots(source);
    const shown = new Set(turns.map(({ screenshot }) => screenshot));
    for (const hash of shown) stored.sizes.set(hash, await imageSize(await source.image(hash)));
    const [size] = stored.sizes.values();
    // No prompt contains the last screenshot: a file of episodes lacks it.
    if (finalScreenshot !== undefined && !shown.has(finalScreenshot)) stored.sizes.set(finalScreenshot, size);
    return stored;
  }

  observation(sha256: string, text?: string): Observation {
    const size = this.sizes.get(sha256);
    if (size === undefined) throw new Error(`the episode has no screenshot ${sha256}`);
    return {
      ...{ sha256, ...size, png: () => this.source.image(sha256) },
      text,
    };
  }
}
