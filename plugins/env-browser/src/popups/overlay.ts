import { createHash } from 'node:crypto';
import type { Point, Region, Screenshot } from '@ui-rl/plugin-kit';
import sharp from 'sharp';
import type { Size } from './popup';

/** PNG color types with an alpha channel. */
const WITH_ALPHA = new Set([4, 6]);
const COLOR_TYPE = 25;

/** Draws a PNG over a screenshot. @param place upper left corner of the PNG, in screenshot pixels */
export async function withOverlay(
  screenshot: Screenshot,
  picture: Buffer,
  [left, top]: Point,
): Promise<Screenshot> {
  const { width, height } = screenshot;
  const below = Buffer.from(screenshot.png);
  // Rounding may move a row or column outside of the screenshot, which sharp rejects.
  const { width: wide, height: high } = await sharp(picture).metadata();
  const shown = {
    left: 0,
    top: 0,
    width: Math.min(wide, width - left),
    height: Math.min(high, height - top),
  };
  const input = await sharp(picture).extract(shown).png({ compressionLevel: 1 }).toBuffer();
  const joined = sharp(below).composite([{ input, left, top }]);
  if (!WITH_ALPHA.has(below[COLOR_TYPE])) joined.removeAlpha();
  return screenshotOf(await joined.png({ compressionLevel: 1 }).toBuffer(), { width, height });
}

/** A region of a screenshot in the same number of pixels. @param scale of the screenshot, to the units of the region */
export async function enlarged(
  { png, width, height }: Screenshot,
  region: Region,
  scale: number,
): Promise<Screenshot> {
  const part = {
    left: Math.floor(region.x * scale),
    top: Math.floor(region.y * scale),
    width: Math.max(1, Math.floor(region.width * scale)),
    height: Math.max(1, Math.floor(region.height * scale)),
  };
  const whole = sharp(Buffer.from(png)).extract(part).resize(width, height, { fit: 'fill' });
  return screenshotOf(await whole.png({ compressionLevel: 1 }).toBuffer(), { width, height });
}

/** A screenshot that differs from a size by a row or a column, for rounding. */
export async function withSize(screenshot: Screenshot, { width, height }: Size): Promise<Screenshot> {
  const { width: wide, height: high } = screenshot;
  if (wide === width && high === height) return screenshot;
  const missing = { right: Math.max(0, width - wide), bottom: Math.max(0, height - high) };
  const extended = await sharp(Buffer.from(screenshot.png))
    .extend({ ...missing, extendWith: 'copy' })
    .toBuffer();
  const part = sharp(extended).extract({ left: 0, top: 0, width, height });
  const png = await part.png({ compressionLevel: 1 }).toBuffer();
  return Object.assign(screenshot, screenshotOf(png, { width, height }));
}

function screenshotOf(png: Buffer, { width, height }: Size): Screenshot {
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}
