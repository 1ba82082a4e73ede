import { asShownTogether, type ImageProcessor, type ProcessedImage } from '@ui-rl/models';

/** Where a screenshot's bytes can be had again, by hash; null where nobody has them. */
export type FetchImage = (sha256: string) => Promise<Uint8Array | null>;

/**
 * Processed images, least recently used first out. Their patches lie in shared memory, so that handing them to the device
 * worker copies nothing.
 */
export class ImageStore {
  private readonly images = new Map<string, ProcessedImage>();
  private bytes = 0;

  constructor(
    private readonly processor: ImageProcessor,
    private readonly fetchImage: FetchImage,
    private readonly limitBytes: number,
  ) {}

  /** Keeps an image of a prompt and returns it with patches in shared memory. */
  keep(image: ProcessedImage): ProcessedImage {
    const known = this.images.get(image.key);
    if (known !== undefined) {
      this.images.delete(image.key);
      this.images.set(image.key, known);
      return known;
    }
    const shared = { ...image, amongOthers: undefined, patches: inSharedMemory(image.patches) };
    this.images.set(image.key, shared);
    this.bytes += shared.patches.byteLength;
    this.shrink();
    return shared;
  }

  /**
   * The images of a prompt by their hashes, in the form in which it shows them, from memory or fetched again. Throws where
   * nobody has one.
   */
  async ofPrompt(hashes: readonly string[]): Promise<ProcessedImage[]> {
    const known = hashes.map((sha256) => this.images.get(this.processor.keyOf(sha256, hashes.length)));
    const found = await Promise.all(
      hashes.map(async (sha256, index) => known[index] ?? this.processAgain(sha256)),
    );
    return asShownTogether(found).map((image) => this.keep(image));
  }

  private async processAgain(sha256: string): Promise<ProcessedImage> {
    const png = await this.fetchImage(sha256);
    if (png === null) throw new Error(`the screenshot ${sha256} is neither in memory nor among the blobs`);
    return this.processor.process(png);
  }

  private shrink(): void {
    for (const [key, image] of this.images) {
      if (this.bytes <= this.limitBytes || this.images.size === 1) return;
      this.images.delete(key);
      this.bytes -= image.patches.byteLength;
    }
  }
}

function inSharedMemory(data: Float32Array): Float32Array {
  if (data.buffer instanceof SharedArrayBuffer) return data;
  const copy = new Float32Array(new SharedArrayBuffer(data.byteLength));
  copy.set(data);
  return copy;
}
