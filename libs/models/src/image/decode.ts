import sharp from 'sharp';
import { ModelError } from '../errors';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

/** 8192 × 8192: 200 MB once decoded. A file of a few kilobytes may claim far more. */
const MAX_PIXELS = 2 ** 26;
const OPTIONS = { ignoreIcc: true, limitInputPixels: MAX_PIXELS };

/**
 * Pixels of an encoded image, read from its header.
 * @throws ModelError `bad-input` for what is no image.
 */
export async function sizeOf(png: Uint8Array): Promise<Size> {
  const { width, height } = await readable(() => sharp(png, OPTIONS).metadata(), png);
  return { width, height };
}

/**
 * 8-bit RGB as Pillow's `convert('RGB')` gives it: transparency and colour profile are dropped.
 * @param check sees the size before the pixels are decoded.
 * @throws ModelError `bad-input` for what is no image.
 */
export async function decodeRgb(png: Uint8Array, check: (size: Size) => void): Promise<RgbImage> {
  check(await sizeOf(png));
  const { data, info } = await readable(
    () => sharp(png, OPTIONS).removeAlpha().toColourspace('srgb').raw().toBuffer({ resolveWithObject: true }),
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
