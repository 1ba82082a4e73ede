import { crc32, deflateSync } from 'node:zlib';

/** RGB, 0–255 each. */
export type Colour = readonly [number, number, number];

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
  colour: Colour;
}

/** A PNG of rectangles over a background. */
export function drawPng(
  { width, height }: { width: number; height: number },
  background: Colour,
  rectangles: readonly Rectangle[],
): Buffer {
  const rows = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const over = rectangles.findLast((each) => isIn(each, x, y));
      rows.set(over?.colour ?? background, y * (width * 3 + 1) + 1 + x * 3);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8); // bits, RGB
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([signature, ...chunks]);
}

export function isIn({ x, y, width, height }: Omit<Rectangle, 'colour'>, atX: number, atY: number): boolean {
  return atX >= x && atX < x + width && atY >= y && atY < y + height;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
