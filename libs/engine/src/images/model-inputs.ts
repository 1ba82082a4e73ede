import type { ProcessedImage } from '@ui-rl/models';
import type { ModelInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { ResolvedInput } from '../training/data';
import type { ImageStore } from './image-store';

type ImageChunk = Extract<ModelInputChunk, { type: 'image' }>;

/** Expands model inputs to tokens with image placeholders, and loads the images. */
export class ModelInputs {
  constructor(
    private readonly images: ImageStore,
    private readonly imageTokenId: number,
  ) {}

  /**
   * Throws an `EngineError` of category `request` if an image needs another number of placeholders than the input
   * has.
   */
  async resolve({ chunks }: ModelInput): Promise<ResolvedInput> {
    const imageChunks = chunks.filter((chunk) => chunk.type === 'image');
    const images = await this.imagesOf(imageChunks);
    const length = chunks.reduce((sum, chunk) => sum + lengthOf(chunk), 0);
    const tokenIds = new Int32Array(length);
    let next = 0;
    for (const chunk of chunks) {
      const end = next + lengthOf(chunk);
      if (chunk.type === 'image') tokenIds.fill(this.imageTokenId, next, end);
      else tokenIds.set(chunk.tokens, next);
      next = end;
    }
    return { tokenIds, images };
  }

  /** An image whose features are split (tiles with markers between them) has one chunk per part. */
  private async imagesOf(chunks: readonly ImageChunk[]): Promise<ProcessedImage[]> {
    const hashes = [...new Set(chunks.map(({ sha256 }) => sha256))];
    const found = await Promise.all(hashes.map((sha256) => this.images.get(sha256)));
    const processed = new Map(found.map((image) => [image.sha256, image]));
    const total = chunks.reduce((sum, { tokens }) => sum + tokens, 0);
    const isAlone = found.length === 1 && found[0].tokens === total;
    const shown: ProcessedImage[] = [];
    let left = 0;
    for (const { sha256, tokens } of chunks) {
      if (left === 0) {
        const image = processed.get(sha256)!;
        shown.push(formOf(image, isAlone));
        left = shown[shown.length - 1].tokens;
      }
      const image = shown[shown.length - 1];
      if (image.sha256 !== sha256 || tokens > left) throw misfit(image, left, { sha256, tokens });
      left -= tokens;
    }
    if (left > 0) throw misfit(shown[shown.length - 1], left);
    return shown;
  }
}

/** The image as the worker needs it: some models process a single image differently from several. */
function formOf(image: ProcessedImage, isAlone: boolean): ProcessedImage {
  const { amongOthers, ...alone } = image;
  return isAlone ? alone : (amongOthers ?? alone);
}

function lengthOf(chunk: ModelInputChunk): number {
  return chunk.type === 'image' ? chunk.tokens : chunk.tokens.length;
}

function misfit(
  image: ProcessedImage,
  left: number,
  chunk?: Pick<ImageChunk, 'sha256' | 'tokens'>,
): EngineError {
  const found = chunk === undefined ? 'the end' : `${chunk.tokens} of image ${chunk.sha256}`;
  return new EngineError(
    'request',
    `image ${image.sha256} has ${image.tokens} features; for the last ${left} of them a place was expected, found ${found}`,
  );
}
