import type { ImageProcessor, ProcessedImage } from '@ui-rl/models';
import { EngineError } from '../errors';

/** A screenshot's bytes by hash; null if they are no longer available. */
export type FetchImage = (sha256: string) => Promise<Uint8Array | null>;

/** Processed images by hash: from the processor's memory, or processed again from their bytes. */
export class ImageStore {
  private readonly inFlight = new Map<string, Promise<ProcessedImage>>();

  constructor(
    private readonly processor: ImageProcessor,
    private readonly fetchImage: FetchImage,
  ) {}

  /**
   * Throws an `EngineError` of category `request` if the image is unavailable or invalid; rethrows errors of the
   * fetch.
   */
  async get(sha256: string): Promise<ProcessedImage> {
    const known = this.processor.known(sha256) ?? this.inFlight.get(sha256);
    if (known !== undefined) return known;
    const loading = this.load(sha256).finally(() => this.inFlight.delete(sha256));
    this.inFlight.set(sha256, loading);
    return loading;
  }

  private async load(sha256: string): Promise<ProcessedImage> {
    const bytes = this.processor.bytesOf(sha256) ?? (await this.fetchImage(sha256));
    if (bytes === null) {
      throw new EngineError(
        'request',
        `the image ${sha256} is not in memory, and its bytes are gone; send the image again, ` +
          'or start the engine with a fetchImage that has it',
      );
    }
    const image = await this.processor.process(bytes).catch((cause: Error) => {
      throw new EngineError('request', `the image ${sha256} cannot be prepared: ${cause.message}`, { cause });
    });
    if (image.sha256 === sha256) return image;
    throw new EngineError('request', `asked for the image ${sha256}, found one of hash ${image.sha256}`);
  }
}
