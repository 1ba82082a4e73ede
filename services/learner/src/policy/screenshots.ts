import { LRUCache } from 'lru-cache';
import { asShownTogether, type ImageProcessor, type MeasuredImage } from '@ui-rl/models';

/** Fetches a screenshot's bytes by hash; null if they are not stored (any more). */
export type FetchImage = (sha256: string) => Promise<Uint8Array | null>;

const PNG_BYTES = 128 * 2 ** 20;
const MEASURED_IMAGES = 100_000;

/** Cache of recent screenshots: actors refer to them by hash, the engine needs their bytes, training their sizes. */
export class Screenshots {
  private readonly pngs = new LRUCache<string, Uint8Array>({
    maxSize: PNG_BYTES,
    sizeCalculation: ({ byteLength }) => Math.max(1, byteLength),
  });
  private readonly measured = new LRUCache<string, MeasuredImage>({ max: MEASURED_IMAGES });

  /** @param fetchImage for images that are no longer cached, or were sent to another process */
  constructor(
    private readonly processor: Pick<ImageProcessor, 'measure'>,
    private readonly fetchImage: FetchImage,
  ) {}

  /** Measures an image of a request, and caches it. Throws a `ModelError` `bad-input` for an invalid one. */
  async measure(png: Uint8Array): Promise<MeasuredImage> {
    const image = await this.processor.measure(png);
    this.measured.set(image.sha256, image);
    this.pngs.set(image.sha256, png);
    return image;
  }

  /**
   * The PNGs of a request, some of which are given by their hashes; or the hash of the first missing one (its actor
   * may not have stored it yet).
   */
  async pngsOf(images: readonly (Uint8Array | string)[]): Promise<Uint8Array[] | { missing: string }> {
    const found: Uint8Array[] = [];
    for (const image of images) {
      const png = typeof image === 'string' ? await this.bytesOf(image) : image;
      if (png === null) return { missing: image as string };
      found.push(png);
    }
    return found;
  }

  /** The bytes of a screenshot; null if they are neither cached nor stored. */
  async bytesOf(sha256: string): Promise<Uint8Array | null> {
    return this.pngs.get(sha256) ?? this.fetchImage(sha256);
  }

  /** The first of these screenshots that is neither cached nor stored; undefined if all are available. */
  async missingOf(hashes: readonly string[]): Promise<string | undefined> {
    for (const sha256 of hashes) {
      if (this.pngs.has(sha256)) continue;
      const png = await this.fetchImage(sha256);
      if (png === null) return sha256;
      this.pngs.set(sha256, png);
    }
    return undefined;
  }

  /**
   * The images of a prompt by their hashes, in the form in which it shows them. Throws if one is neither cached nor
   * stored.
   */
  async ofPrompt(hashes: readonly string[]): Promise<MeasuredImage[]> {
    return asShownTogether(await Promise.all(hashes.map((sha256) => this.measureAgain(sha256))));
  }

  private async measureAgain(sha256: string): Promise<MeasuredImage> {
    const known = this.measured.get(sha256);
    if (known !== undefined) return known;
    const png = await this.bytesOf(sha256);
    if (png === null) throw new Error(`the screenshot ${sha256} is neither in memory nor among the blobs`);
    return this.measure(png);
  }
}
