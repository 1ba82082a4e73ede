import type { ScreenshotStore } from '@ui-rl/episode';

/** Holds the screenshots of an episode in memory. */
export class MemoryScreenshots implements ScreenshotStore {
  private readonly pngs = new Map<string, Uint8Array>();

  async put(png: Uint8Array, sha256: string): Promise<void> {
    this.pngs.set(sha256, png);
  }

  async get(sha256: string): Promise<Uint8Array | null> {
    return this.pngs.get(sha256) ?? null;
  }

  png(sha256: string): Uint8Array {
    const png = this.pngs.get(sha256);
    if (png === undefined) throw new Error(`the episode has no screenshot ${sha256}`);
    return png;
  }
}
