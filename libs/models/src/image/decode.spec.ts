import { crc32, deflateSync } from 'node:zlib';
import { decodeRgb, sizeOf } from './decode';

/** A PNG of a few bytes that declares this size. */
function claims(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const chunks = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(100))),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = [Buffer.alloc(4), Buffer.alloc(4)];
  ends[0].writeUInt32BE(data.length);
  ends[1].writeUInt32BE(crc32(body));
  return Buffer.concat([ends[0], body, ends[1]]);
}

it('reads the size of a large image', async () => {
  expect(await sizeOf(claims(8_192, 8_192))).toEqual({ width: 8_192, height: 8_192 });
});

it('refuses an image that would take gigabytes, before its pixels are decoded', async () => {
  const check = jest.fn();
  for (const png of [claims(16_384, 16_384), claims(2 ** 31 - 1, 2 ** 31 - 1), claims(8_193, 8_192)]) {
    const before = process.memoryUsage().rss;
    await expect(sizeOf(png)).rejects.toMatchObject({ category: 'bad-input' });
    await expect(decodeRgb(png, check)).rejects.toThrow(/cannot be decoded as an image/);
    expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
  }
  expect(check).not.toHaveBeenCalled();
});
