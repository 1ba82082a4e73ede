import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { ModelError } from '../errors';
import { resizeBicubic, type RgbImage } from './bicubic';
import { ByteBudgetCache } from './cache';
import { readImageProcessorConfig, type ImageProcessorConfig } from './config';
import { toPatches } from './patches';
import { smartResize, type Size } from './smart-resize';

/** An image as the model takes it. Shared between callers: read only. */
export interface ProcessedImage {
  /** Row-major [P, 3 · patchSize²], P = t · h · w of the grid, in merge-block order. */
  patches: Float32Array;
  /** Frames (1), rows and columns of patches. */
  grid: [t: number, h: number, w: number];
  /** Tokens the image takes in a prompt: P / mergeSize². */
  tokens: number;
  /** sha256 of the encoded image (PNG), hex. */
  sha256: string;
  /** Pixels as encoded, before resizing. */
  width: number;
  height: number;
}

export interface ImageProcessorOptions {
  /** Memory for images that were processed before. Default 256 MiB. */
  cacheBytes?: number;
}

const DEFAULT_CACHE_BYTES = 256 * 2 ** 20;

/** Makes patches of screenshots as the Qwen2-VL and Qwen3-VL processors do. */
export class ImageProcessor {
  private readonly cache: ByteBudgetCache<ProcessedImage>;
  private readonly underway = new Map<string, Promise<ProcessedImage>>();

  constructor(
    readonly config: ImageProcessorConfig,
    { cacheBytes = DEFAULT_CACHE_BYTES }: ImageProcessorOptions = {},
  ) {
    this.cache = new ByteBudgetCache(cacheBytes);
  }

  /** Reads the configuration of a Hugging Face folder, see {@link readImageProcessorConfig} for errors. */
  static async load(dir: string, options: ImageProcessorOptions = {}): Promise<ImageProcessor> {
    return new ImageProcessor(await readImageProcessorConfig(dir), options);
  }

  /**
   * Decodes, resizes, normalizes and cuts an image; the same bytes are processed once.
   * @throws ModelError `bad-input` for what is no image, has an edge below 2 pixels or an aspect ratio above 200.
   */
  async process(png: Uint8Array): Promise<ProcessedImage> {
    const sha256 = createHash('sha256').update(png).digest('hex');
    const known = this.cache.get(sha256) ?? this.underway.get(sha256);
    if (known !== undefined) return known;
    const work = this.processNew(png, sha256).finally(() => this.underway.delete(sha256));
    this.underway.set(sha256, work);
    return work;
  }

  /** Size at which an image is shown to the model. */
  resizedSize(size: Size): Size {
    const { patchSize, mergeSize, minPixels, maxPixels } = this.config;
    return smartResize(size, { factor: patchSize * mergeSize, minPixels, maxPixels });
  }

  /** Tokens an image of so many pixels takes in a prompt. */
  tokensOf(size: Size): number {
    const { width, height } = this.resizedSize(size);
    const factor = this.config.patchSize * this.config.mergeSize;
    return (width / factor) * (height / factor);
  }

  private async processNew(png: Uint8Array, sha256: string): Promise<ProcessedImage> {
    const image = await decodeRgb(png, (size) => this.resizedSize(size));
    const { patchSize } = this.config;
    const resized = resizeBicubic(image, this.resizedSize(image));
    const processed: ProcessedImage = {
      patches: toPatches(resized, this.config),
      grid: [1, resized.height / patchSize, resized.width / patchSize],
      tokens: this.tokensOf(image),
      sha256,
      width: image.width,
      height: image.height,
    };
    this.cache.set(sha256, processed, processed.patches.byteLength);
    return processed;
  }
}

/**
 * 8-bit RGB as Pillow's `convert('RGB')` gives it: transparency and colour profile are dropped.
 * @param check sees the size before the pixels are decoded.
 */
async function decodeRgb(png: Uint8Array, check: (size: Size) => void): Promise<RgbImage> {
  const options = { ignoreIcc: true };
  const { width, height } = await readable(() => sharp(png, options).metadata(), png);
  check({ width, height });
  const { data, info } = await readable(
    () => sharp(png, options).removeAlpha().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true }),
    png,
  );
  if (info.channels !== 3) {
    throw new ModelError('bad-input', `the image has ${info.channels} channels after conversion; expected 3`);
  }
  return { data, width: info.width, height: info.height };
}

async function readable<T>(read: () => Promise<T>, png: Uint8Array): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ModelError('bad-input', `${png.length} bytes cannot be decoded as an image: ${reason}`, {
      cause,
    });
  }
}
