import { createHash } from 'node:crypto';
import type { Point, Screenshot } from '@ui-rl/plugin-kit';
import sharp from 'sharp';

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
  const png = await joined.png({ compressionLevel: 1 }).toBuffer();
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}
