import type { ImageProcessor, ProcessedImage } from '@ui-rl/models';

/** Where a screenshot's bytes can be had again, by hash; null where nobody has them. */
export type FetchImage = (sha256: string) => Promise<Uint8Array | null>;

/**
 * Processed images by hash, least recently used first out. Their patches lie in shared memory, so that handing them to the
 * device worker copies nothing.
 */
export class ImageStore {
  private readonly images = new Map<string, ProcessedImage>();
  private bytes = 0;

  constructor(
    private readonly processor: ImageProcessor,
    private readonly fetchImage: FetchImage,
    private readonly limitBytes: number,
  ) {}

  /** Keeps an image and returns it with patches in shared memory. */
  keep(image: ProcessedImage): ProcessedImage {
    const known = this.images.get(image.sha256);
    if (known !== undefined) {
      this.images.delete(image.sha256);
      this.images.set(image.sha256, known);
      return known;
    }
    const shared = { ...image, patches: sharedCopy(image.patches) };
    this.images.set(image.sha256, shared);
    this.bytes += shared.patches.byteLength;
    this.shrink();
    return shared;
  }

  /** The image of that hash, from memory or fetched again. Throws where nobody has it. */
  async get(sha256: string): Promise<ProcessedImage> {
    const known = this.images.get(sha256);
    if (known !== undefined) return known;
    const png = await this.fetchImage(sha256);
    if (png === null) throw new Error(`the screenshot ${sha256} is neither in memory nor among the blobs`);
    return this.keep(await this.processor.process(png));
  }

  private shrink(): void {
    for (const [sha256, image] of this.images) {
      if (this.bytes <= this.limitBytes || this.images.size === 1) return;
      this.images.delete(sha256);
      this.bytes -= image.patches.byteLength;
    }
  }
}

function sharedCopy(data: Float32Array): Float32Array {
  const copy = new Float32Array(new SharedArrayBuffer(data.byteLength));
  copy.set(data);
  return copy;
}
