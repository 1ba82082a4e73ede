import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { readImage, sizeOf } from './images';

interface Expected {
  width: number;
  height: number;
  file: string;
  rgb: string;
}

const golden = join(__dirname, '../../../test/golden/images/expected.json');
const images = Object.entries(JSON.parse(readFileSync(golden, 'utf8')) as Record<string, Expected>);

/** Endpoints reject TIFF. */
const taken = images.filter(([name]) => !name.includes('tiff'));

test.each(taken)('%s arrives as a PNG with the pixels that a model sees', async (_, expected) => {
  const { width, height, file, rgb } = expected;
  const { png, pixels } = await readImage(`data:image/png;base64,${file}`, 'url');
  expect((await sharp(png).metadata()).format).toBe('png');
  expect([await sizeOf(png), pixels]).toEqual([{ width, height }, width * height]);
  // Colour profiles and gammas of PNGs are kept, but models ignore them.
  const seen = await sharp(png, { ignoreIcc: true }).toColourspace('srgb').raw().toBuffer();
  expect(Array.from(seen)).toEqual(Array.from(Buffer.from(rgb, 'base64')));
});

test('a photo of a phone arrives as it is looked at', async () => {
  const photo = await sharp({ create: { width: 320, height: 160, channels: 3, background: 'teal' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  const { png } = await readImage(`data:image/jpeg;base64,${photo.toString('base64')}`, 'url');
  const { width, height, orientation } = await sharp(png).metadata();
  expect([width, height, orientation]).toEqual([160, 320, undefined]);
});
