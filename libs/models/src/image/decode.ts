import * as decoding from '@ui-rl/image-decoding';
import { ModelError } from '../errors';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

/**
 * Size of an encoded image, read from its header, with EXIF orientation applied.
 * @throws ModelError `bad-input` for invalid images.
 */
export function sizeOf(bytes: Uint8Array): Promise<Size> {
  return asModelError(decoding.imageSize(bytes));
}

/**
 * The pixels of an encoded image, see `decodeRgb` of `@ui-rl/image-decoding`.
 * @param check receives the size before the pixels are decoded.
 * @throws ModelError `bad-input` for invalid images.
 */
export function decodeRgb(bytes: Uint8Array, check: (size: Size) => void): Promise<RgbImage> {
  return asModelError(decoding.decodeRgb(bytes, check));
}

async function asModelError<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof decoding.ImageDecodingError)) throw error;
    throw new ModelError('bad-input', error.message, { cause: error });
  }
}
