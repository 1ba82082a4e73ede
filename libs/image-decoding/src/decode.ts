import sharp from 'sharp';
import { cmykToRgb, overWhite } from './colour';
import type { ImageSize, RgbImage } from './image';
import { orientationOf, orientedSize, turned } from './orientation';

/** The bytes are not an image, are corrupt, or declare more than {@link MAX_PIXELS}. */
export class ImageDecodingError extends Error {
  constructor(bytes: Uint8Array, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${bytes.length} bytes cannot be decoded as an image: ${reason}`, { cause });
    this.name = 'ImageDecodingError';
  }
}

/** 8192 × 8192: 200 MB once decoded. A file of a few kilobytes may declare far more. */
export const MAX_PIXELS = 2 ** 26;

/** The reference implementations ignore color profiles. */
const OPTIONS = { ignoreIcc: true, limitInputPixels: MAX_PIXELS };

/**
 * Display size of an encoded image, after applying its EXIF orientation. Reads the header only.
 * @throws ImageDecodingError
 */
export async function imageSize(bytes: Uint8Array): Promise<ImageSize> {
  const metadata = await readMetadata(bytes);
  return orientedSize(metadata, orientationOf(bytes, metadata));
}

/**
 * The pixels of an encoded image (the first frame) as the image processors of transformers get them from Pillow:
 * rotated by EXIF orientation, blended over white, CMYK converted without a profile, color profiles ignored. 16-bit
 * gray keeps the upper 8 bits. A transparent level of a grayscale or 16-bit PNG is transparent as PNG defines it,
 * while Pillow clips the former and misses the latter.
 *
 * @param check receives the size before the pixels are decoded.
 * @throws ImageDecodingError
 */
export async function decodeRgb(
  bytes: Uint8Array,
  check: (size: ImageSize) => void = () => undefined,
): Promise<RgbImage> {
  const metadata = await readMetadata(bytes);
  const orientation = orientationOf(bytes, metadata);
  check(orientedSize(metadata, orientation));
  return turned(await decodeStored(bytes, metadata), orientation);
}

/**
 * An encoded image as a PNG with the pixels of {@link decodeRgb}. A PNG that already has these pixels is returned
 * unchanged.
 * @throws ImageDecodingError
 */
export async function toRgbPng(bytes: Uint8Array): Promise<Uint8Array> {
  const metadata = await readMetadata(bytes);
  const isUpright = orientationOf(bytes, metadata) === 1;
  if (metadata.format === 'png' && isUpright && (await isOpaque(bytes, metadata))) return bytes;
  const { data, width, height } = await decodeRgb(bytes);
  return sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toBuffer();
}

/** Whether every pixel is opaque. Many screenshots have an unused alpha channel. */
async function isOpaque(bytes: Uint8Array, { hasAlpha }: sharp.Metadata): Promise<boolean> {
  if (!hasAlpha) return true;
  const stats = await readable(bytes, () => sharp(bytes, OPTIONS).stats());
  return stats.isOpaque;
}

function readMetadata(bytes: Uint8Array): Promise<sharp.Metadata> {
  return readable(bytes, () => sharp(bytes, OPTIONS).metadata());
}

/** The pixels in stored order, before rotation. */
async function decodeStored(bytes: Uint8Array, { space }: sharp.Metadata): Promise<RgbImage> {
  const image = sharp(bytes, OPTIONS);
  if (space === 'cmyk') {
    const { data, info } = await readable(bytes, () => rawPixels(image.pipelineColourspace('cmyk'), 'cmyk'));
    return { data: cmykToRgb(data, info.channels), width: info.width, height: info.height };
  }
  const { data, info } = await readable(bytes, () => rawPixels(image, 'srgb'));
  return { data: info.channels === 4 ? overWhite(data) : data, width: info.width, height: info.height };
}

function rawPixels(image: sharp.Sharp, space: string): Promise<{ data: Buffer; info: sharp.OutputInfo }> {
  return image.toColourspace(space).raw().toBuffer({ resolveWithObject: true });
}

async function readable<T>(bytes: Uint8Array, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new ImageDecodingError(bytes, cause);
  }
}
