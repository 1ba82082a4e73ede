import type { Screenshot } from '@ui-rl/contracts';
import type { Observation } from '@ui-rl/plugin-kit';

/** Stores screenshots by their sha256. */
export interface ScreenshotStore {
  put(png: Uint8Array, sha256: string): Promise<unknown>;
  /** Null if it was never stored. */
  get(sha256: string): Promise<Uint8Array | null>;
}

/** Memory limit for the PNGs of an episode; older ones are fetched from the store on demand. */
const MEMORY_BYTES = 32 * 2 ** 20;

/** The screenshots of an episode, which are stored while it is played. */
export class Screenshots {
  private readonly uploads = new Map<string, Promise<unknown>>();
  private readonly sizes = new Map<string, { width: number; height: number }>();
  /** Oldest first. */
  private readonly inMemory = new Map<string, Uint8Array>();
  private bytes = 0;

  constructor(
    private readonly store: ScreenshotStore,
    private readonly memoryBytes = MEMORY_BYTES,
  ) {}

  add({ png, sha256, width, height }: Screenshot): void {
    if (this.uploads.has(sha256)) return;
    this.sizes.set(sha256, { width, height });
    this.keep(sha256, png);
    const upload = this.store.put(png, sha256);
    upload.catch(() => undefined);
    this.uploads.set(sha256, upload);
  }

  /** Waits until all of them are stored. */
  async finish(): Promise<void> {
    await Promise.all(this.uploads.values());
  }

  /**
   * A stored screenshot as rewards see it. @param text the screen as text, which may differ for identical pictures
   */
  observation(sha256: string, text?: string): Observation {
    const size = this.sizes.get(sha256);
    if (size === undefined) throw new Error(`the episode has no screenshot ${sha256}`);
    return { sha256, ...size, text, png: () => this.read(sha256) };
  }

  private async read(sha256: string): Promise<Uint8Array> {
    const known = this.inMemory.get(sha256);
    if (known !== undefined) return known;
    await this.uploads.get(sha256);
    const stored = await this.store.get(sha256);
    if (stored === null) throw new Error(`the screenshot ${sha256} is no longer stored`);
    return stored;
  }

  private keep(sha256: string, png: Uint8Array): void {
    this.inMemory.set(sha256, png);
    this.bytes += png.byteLength;
    for (const [oldest, { byteLength }] of this.inMemory) {
      if (this.bytes <= this.memoryBytes || this.inMemory.size === 1) return;
      this.inMemory.delete(oldest);
      this.bytes -= byteLength;
    }
  }
}
