import sharp from 'sharp';
import type { ImageSize } from '@ui-rl/contracts';
import { invalid, unsupported } from './errors';

/** Of one request. */
export const MAX_IMAGES = 256;
/** 8192 × 8192: a file of a few kilobytes may claim far more. */
const MAX_PIXELS = 2 ** 26;
const DATA_URL = /^data:image\/[a-z0-9.+-]{1,40};base64,/i;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * PNG bytes of an image that a request gives as a data URL; other formats are decoded and become PNGs. Addresses are refused: nothing
 * is fetched for a caller.
 *
 * @param param where it stands in the request
 */
export async function pngOf(url: string, param: string): Promise<Uint8Array> {
  const [head] = DATA_URL.exec(url.slice(0, 64)) ?? [];
  if (head === undefined) {
    throw unsupported(
      param,
      'images are given as data URLs (data:image/png;base64,…); addresses are not fetched',
    );
  }
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  try {
    const image = sharp(bytes, { limitInputPixels: MAX_PIXELS });
    // Reads the header only.
    await image.metadata();
    return bytes.subarray(0, PNG.length).equals(PNG)
      ? new Uint8Array(bytes)
      : new Uint8Array(await image.png().toBuffer());
  } catch (error) {
    throw invalid(param, `${bytes.length} bytes cannot be decoded as an image: ${(error as Error).message}`);
  }
}

/** Pixels of a PNG that {@link pngOf} gave. */
export async function sizeOf(png: Uint8Array): Promise<ImageSize> {
  const { width, height } = await sharp(png, { limitInputPixels: MAX_PIXELS }).metadata();
  return { width, height };
}
