import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { decodeRgb, ImageDecodingError, imageSize, toRgbPng } from '.';

interface Expected {
  width: number;
  height: number;
  file: string;
  rgb: string;
}

const golden = join(__dirname, '../../../test/golden/images/expected.json');
const images = Object.entries(JSON.parse(readFileSync(golden, 'utf8')) as Record<string, Expected>);

describe.each(images)('%s', (_name, { width, height, file, rgb }) => {
  const bytes = Buffer.from(file, 'base64');
  const pixels = Array.from(Buffer.from(rgb, 'base64'));

  test('has the pixels of the reference', async () => {
    const found = await decodeRgb(bytes);
    expect([found.width, found.height]).toEqual([width, height]);
    expect(Array.from(found.data)).toEqual(pixels);
    expect(await imageSize(bytes)).toEqual({ width, height });
  });

  test('is the same image as a PNG that any viewer shows', async () => {
    const png = await toRgbPng(bytes);
    const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([width, height]);
    const text = Buffer.from(png).toString('latin1');
    if (info.channels === 3 && !/iCCP|gAMA/.test(text)) {
      expect(Array.from(data)).toEqual(pixels);
    }
    expect(Array.from((await decodeRgb(png)).data)).toEqual(pixels);
  });
});

const picture = (channels: 3 | 4, alpha = 1) =>
  sharp({ create: { width: 4, height: 2, channels, background: { r: 255, g: 0, b: 0, alpha } } });

const first = async (image: sharp.Sharp): Promise<number[]> =>
  Array.from((await decodeRgb(await image.toBuffer())).data.subarray(0, 3));

test('transparent pixels become white, half transparent ones half white', async () => {
  expect(await first(picture(4, 0).png())).toEqual([255, 255, 255]);
  expect(await first(picture(4, 0.5).png())).toEqual([255, 127, 127]);
  expect(await first(picture(4, 1).png())).toEqual([255, 0, 0]);
});

test('16-bit grey keeps its upper 8 bits', async () => {
  const grey = await picture(3).greyscale().toColourspace('b-w').png().toBuffer();
  const deep = await sharp(grey).toColourspace('grey16').png().toBuffer();
  expect((await sharp(deep).metadata()).depth).toBe('ushort');
  expect(Array.from((await decodeRgb(deep)).data)).toEqual(Array.from((await decodeRgb(grey)).data));
});

test('a damaged EXIF block turns nothing', async () => {
  const png = await picture(3).png().toBuffer();
  const block = Buffer.from('MM\0*\0\0\0\x08\0\x09\x01', 'latin1');
  const body = Buffer.concat([Buffer.from('eXIf'), block]);
  const ends = [Buffer.alloc(4), Buffer.alloc(4)];
  ends[0].writeUInt32BE(block.length);
  ends[1].writeUInt32BE(crc32(body));
  const damaged = Buffer.concat([png.subarray(0, -12), ends[0], body, ends[1], png.subarray(-12)]);
  expect(await imageSize(damaged)).toEqual({ width: 4, height: 2 });
});

test('a PNG with these pixels comes back byte by byte', async () => {
  for (const plain of [picture(3), picture(4, 1)]) {
    const png = await plain.png().toBuffer();
    expect(await toRgbPng(png)).toBe(png);
  }
});

test('the size is checked before the pixels are decoded, as the image is shown', async () => {
  const jpeg = await picture(3).jpeg().withMetadata({ orientation: 6 }).toBuffer();
  const check = jest.fn(() => {
    throw new Error('too large');
  });
  await expect(decodeRgb(jpeg, check)).rejects.toThrow('too large');
  expect(check).toHaveBeenCalledWith({ width: 2, height: 4 });
});

test('refuses bytes that are not an image', async () => {
  const bytes = Buffer.from('no image');
  await expect(imageSize(bytes)).rejects.toThrow('8 bytes cannot be decoded as an image: Input buffer');
  await expect(decodeRgb(bytes)).rejects.toThrow(ImageDecodingError);
  await expect(toRgbPng(bytes)).rejects.toThrow('8 bytes cannot be decoded as an image');
});
