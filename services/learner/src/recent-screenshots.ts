import { createHash } from 'node:crypto';
import { ByteBudgetCache } from '@ui-rl/models';
import type { FetchImage } from './image-store';

const MEMORY_BYTES = 128 * 2 ** 20;

/** PNGs of recent requests: actors send each screenshot once as bytes, later by its hash. */
export class RecentScreenshots {
  private readonly pngs: ByteBudgetCache<Uint8Array>;

  constructor(
    private readonly fetchImage: FetchImage,
    memoryBytes = MEMORY_BYTES,
  ) {
    this.pngs = new ByteBudgetCache(memoryBytes);
  }

  /**
   * The PNGs of a request, from memory or the blobs where it gives hashes; the hash of the first one that cannot be had (its actor
   * may not have stored it yet).
   */
  async pngsOf(images: readonly (Uint8Array | string)[]): Promise<Uint8Array[] | { missing: string }> {
    const found: Uint8Array[] = [];
    for (const image of images) {
      const png = typeof image === 'string' ? await this.find(image) : this.keep(image);
      if (png === null) return { missing: image as string };
      found.push(png);
    }
    return found;
  }

  private keep(png: Uint8Array): Uint8Array {
    const sha256 = createHash('sha256').update(png).digest('hex');
    this.pngs.set(sha256, png, png.byteLength);
    return png;
  }

  private async find(sha256: string): Promise<Uint8Array | null> {
    const known = this.pngs.get(sha256);
    if (known !== undefined) return known;
    const png = await this.fetchImage(sha256);
    return png === null ? null : this.keep(png);
  }
}
