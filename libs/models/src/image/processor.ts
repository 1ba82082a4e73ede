import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ImageGeometry, ImageInput } from '../families/base';
import { decodeRgb, sizeOf } from './decode';
import type { ImageModel, ImagePreparation } from './preparation';
import type { RgbImage } from './resample';
import { checkSize, type Size } from './smart-resize';

/** The properties of an image that a prompt needs. */
export interface MeasuredImage extends ImageGeometry {
  /** Number of prompt tokens of the image, equal to its number of features. */
  tokens: number;
  /** Hex sha256 of the encoded image (PNG). */
  sha256: string;
  /** Unique among processed images: its hash, plus the kind of preparation if there are two. */
  key: string;
  /** Encoded size in pixels, before resizing. */
  width: number;
  height: number;
  /** The same image in a prompt with several images, if that differs. */
  amongOthers?: MeasuredImage;
}

/** A processed image. Shared between callers: read-only. */
export interface ProcessedImage extends MeasuredImage, ImageInput {
  amongOthers?: ProcessedImage;
}

export interface ImageProcessorOptions {
  /** Cache size for processed images. Default 256 MiB. Their encoded bytes take another 128 MiB at most. */
  cacheBytes?: number;
}

const DEFAULT_CACHE_BYTES = 256 * 2 ** 20;
/** Memory for encoded images: some hundreds of screenshots, which take a hundred times as much when processed. */
const ENCODED_BYTES = 128 * 2 ** 20;
const KNOWN_SIZES = 100_000;

/** The images of a prompt in the required form: some models process a single image differently from several. */
export function asShownTogether<I extends MeasuredImage & { amongOthers?: I }>(images: readonly I[]): I[] {
  return images.length === 1 ? [...images] : images.map((image) => image.amongOthers ?? image);
}

function patchBytes({ patches, amongOthers }: ProcessedImage): number {
  return patches.byteLength + (amongOthers?.patches.byteLength ?? 0);
}

/** Converts encoded images to model inputs. */
export class ImageProcessor {
  private readonly cache: LRUCache<string, ProcessedImage>;
  private readonly encoded = new LRUCache<string, Uint8Array>({
    maxSize: ENCODED_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength,
  });
  private readonly inFlight = new Map<string, Promise<ProcessedImage>>();
  private readonly sizes = new LRUCache<string, Size>({ max: KNOWN_SIZES });

  constructor(
    readonly preparation: ImagePreparation,
    private readonly model: Pick<ImageModel, 'imageTokens'>,
    { cacheBytes = DEFAULT_CACHE_BYTES }: ImageProcessorOptions = {},
  ) {
    this.cache = new LRUCache({ maxSize: cacheBytes, sizeCalculation: patchBytes });
  }

  /**
   * Decodes, resizes, normalizes and cuts an image; the same bytes are processed once while the result is cached. Do
   * not change the bytes afterwards, see `bytesOf`.
   * @throws ModelError `bad-input` for an invalid image, or a size that the model does not support.
   */
  async process(png: Uint8Array): Promise<ProcessedImage> {
    const sha256 = createHash('sha256').update(png).digest('hex');
    const image = await (this.cache.get(sha256) ?? this.inFlight.get(sha256) ?? this.begin(png, sha256));
    this.encoded.set(sha256, png);
    return image;
  }

  /**
   * The result of `process` without patches; reads only the image's header.
   * @throws ModelError `bad-input` for an invalid image, or a size that the model does not support.
   */
  async measure(png: Uint8Array): Promise<MeasuredImage> {
    const sha256 = createHash('sha256').update(png).digest('hex');
    const size = this.sizes.get(sha256) ?? (await sizeOf(png));
    this.sizes.set(sha256, size);
    const { amongOthers } = this.preparation;
    return {
      ...this.geometryOf(size, this.preparation, sha256, this.keyOf(sha256, 1)),
      ...(amongOthers === undefined
        ? {}
        : { amongOthers: this.geometryOf(size, amongOthers, sha256, this.keyOf(sha256, 2)) }),
    };
  }

  /** A cached image by the hash of its bytes; undefined if it is not in memory. */
  known(sha256: string): ProcessedImage | undefined {
    return this.cache.get(sha256);
  }

  /** The bytes of a processed image by their hash, to process it again; undefined if they were not seen recently. */
  bytesOf(sha256: string): Uint8Array | undefined {
    return this.encoded.get(sha256);
  }

  /** The key of an image in a prompt with this many images. */
  keyOf(sha256: string, images: number): string {
    return images === 1 || this.preparation.amongOthers === undefined ? sha256 : `${sha256}/among-others`;
  }

  /** Number of tokens of an image of this size as the only image of a prompt. */
  tokensOf(size: Size): number {
    checkSize(size);
    return this.model.imageTokens(this.preparation.geometryOf(size));
  }

  /**
   * Size in pixels of such an image as the model sees it, as the only image of a prompt.
   * @throws ModelError `bad-input` for a size that the model does not support.
   */
  shownSize(size: Size): Size {
    checkSize(size);
    return this.preparation.shownSize(size);
  }

  private begin(png: Uint8Array, sha256: string): Promise<ProcessedImage> {
    const work = this.processNew(png, sha256).finally(() => this.inFlight.delete(sha256));
    this.inFlight.set(sha256, work);
    return work;
  }

  private async processNew(png: Uint8Array, sha256: string): Promise<ProcessedImage> {
    const image = await decodeRgb(png, (size) => {
      checkSize(size);
      this.preparation.geometryOf(size);
    });
    const { amongOthers } = this.preparation;
    const processed = this.prepare(image, this.preparation, sha256, this.keyOf(sha256, 1));
    if (amongOthers !== undefined) {
      processed.amongOthers = this.prepare(image, amongOthers, sha256, this.keyOf(sha256, 2));
    }
    this.cache.set(sha256, processed);
    return processed;
  }

  private prepare(
    image: RgbImage,
    preparation: ImagePreparation,
    sha256: string,
    key: string,
  ): ProcessedImage {
    return {
      ...this.geometryOf(image, preparation, sha256, key),
      patches: preparation.patchesOf(image),
    };
  }

  private geometryOf(
    size: Size,
    preparation: ImagePreparation,
    sha256: string,
    key: string,
  ): Omit<MeasuredImage, 'amongOthers'> {
    checkSize(size);
    const geometry = preparation.geometryOf(size);
    return {
      ...geometry,
      tokens: this.model.imageTokens(geometry),
      sha256,
      key,
      width: size.width,
      height: size.height,
    };
  }
}
