import { imageSize, MAX_PIXELS, toRgbPng } from '@ui-rl/image-decoding';
import { invalid, unsupported } from './errors';

/** Maximum number of images per request. */
export const MAX_IMAGES = 256;
/** Maximum total pixels per request: a hundred screenshots of 1920 × 1080. */
export const MAX_PIXELS_TOGETHER = 2 ** 28;
/** Maximum total size of a conversation's images, as PNGs. */
export const MAX_BYTES_TOGETHER = 2 ** 28;
const DATA_URL = /^data:image\/[a-z0-9.+-]{1,40};base64,/i;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Magic bytes of the other supported formats; decoders of further formats must not see untrusted bytes. */
const CONVERTED = /^(\xff\xd8\xff|RIFF[^]{4}WEBP|GIF8[79]a)/;

export interface ReadImage {
  png: Uint8Array;
  pixels: number;
}

/**
 * Reads an image from a data URL: PNG, JPEG, WebP, or the first frame of a GIF. Converts it to a PNG with the pixels
 * that a model sees (`decodeRgb` of `@ui-rl/image-decoding`): with EXIF orientation applied, on white where it is
 * transparent. Rejects addresses: nothing is fetched for a caller.
 *
 * @param param position in the request
 * @param maxPixels maximum number of pixels
 */
export async function readImage(url: string, param: string, maxPixels = MAX_PIXELS): Promise<ReadImage> {
  const [head] = DATA_URL.exec(url.slice(0, 64)) ?? [];
  if (head === undefined) {
    throw unsupported(
      param,
      'images are given as data URLs (data:image/png;base64,…); addresses are not fetched',
    );
  }
  const bytes = Buffer.from(url.slice(head.length), 'base64');
  const isPng = bytes.subarray(0, PNG.length).equals(PNG);
  if (!isPng && !CONVERTED.test(bytes.toString('latin1', 0, 16)))
    throw invalid(param, `${bytes.length} bytes are not a PNG, JPEG, WebP or GIF`);
  const unreadable = (error: Error): never => {
    throw invalid(param, error.message);
  };
  // Reads only the header.
  const { width, height } = await imageSize(bytes).catch(unreadable);
  const pixels = width * height;
  if (pixels > maxPixels) throw invalid(param, 'the images have too many pixels together');
  return { png: new Uint8Array(await toRgbPng(bytes).catch(unreadable)), pixels };
}

/** Size in pixels of a PNG from {@link readImage}. */
export const sizeOf = imageSize;
