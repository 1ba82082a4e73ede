import { invalid, readImage } from '@ui-rl/openai-api';
import { createHash } from 'node:crypto';
import type { Family, ImageProcessor, MeasuredImage } from '@ui-rl/models';

/** The properties of a model that place images among tokens. */
export interface ImageModel {
  family: Pick<Family, 'imageText'>;
  imageProcessor: Pick<ImageProcessor, 'measure'>;
}

/** Images of requests in progress, by hash: the engine fetches their bytes from here. */
export class RequestImages {
  private readonly held = new Map<string, { bytes: Uint8Array; requests: number }>();

  constructor(private readonly model: ImageModel) {}

  /** For the engine. */
  readonly fetch = (sha256: string): Promise<Uint8Array | null> =>
    Promise.resolve(this.held.get(sha256)?.bytes ?? null);

  /**
   * Holds an image until `release`, and measures it. @throws ApiError if it is invalid, or the model does not support
   * it
   */
  async take(base64: string, path: string): Promise<MeasuredImage> {
    const { png } = await readImage(`data:image/png;base64,${base64}`, path);
    const image = await this.model.imageProcessor.measure(png).catch((error: Error) => {
      throw invalid(path, error.message);
    });
    const { runs } = this.model.family.imageText(image, '');
    if (runs.length > 1) {
      throw invalid(
        path,
        `this model shows the image in ${runs.length} parts with text between them, which one chunk cannot say`,
      );
    }
    const sha256 = createHash('sha256').update(png).digest('hex');
    const held = this.held.get(sha256);
    this.held.set(sha256, { bytes: png, requests: (held?.requests ?? 0) + 1 });
    return image;
  }

  release(hashes: readonly string[]): void {
    for (const sha256 of hashes) {
      const held = this.held.get(sha256);
      if (held === undefined) continue;
      held.requests -= 1;
      if (held.requests === 0) this.held.delete(sha256);
    }
  }
}
