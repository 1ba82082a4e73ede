import { createHash } from 'node:crypto';
import type { Point, Screenshot } from '@ui-rl/plugin-kit';
import sharp from 'sharp';

/** PNG pictures of three or four channels. */
const WITH_ALPHA = new Set([4, 6]);
const COLOR_TYPE = 25;

/** A screenshot with a picture over it, a PNG. @param place of its upper left corner, in pixels of the screenshot */
export async function withOverlay(
  screenshot: Screenshot,
  picture: Buffer,
  [left, top]: Point,
): Promise<Screenshot> {
  const { width, height } = screenshot;
  const below = Buffer.from(screenshot.png);
  // Rounding may put a row or column of it outside, which is refused.
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
