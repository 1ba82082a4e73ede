import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Screenshot } from '@ui-rl/contracts';
import { OutsideError } from './errors';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, type and checksum of a chunk. */
const AROUND = 12;
/** Readers decompress the image: a few hundred bytes can expand to gigabytes. */
const MAX_SIDE = 8_192;

/**
 * Validates an untrusted PNG as a screenshot: complete, chunk by chunk, and no larger than a screen, so that faults
 * are found here instead of in a decoder.
 *
 * @throws OutsideError
 */
export function screenshotOfPng(bytes: Uint8Array, from: string): Screenshot {
  const png = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const problem = problemOf(png);
  if (problem !== null) throw new OutsideError('crashed', `${from} gave no screenshot: ${problem}`);
  const sha256 = createHash('sha256').update(png).digest('hex');
  return { png, sha256, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

function problemOf(png: Buffer): string | null {
  if (!png.subarray(0, 8).equals(SIGNATURE)) return `${png.length} bytes that are not a PNG`;
  let offset = SIGNATURE.length;
  for (let index = 0; ; index += 1) {
    if (offset + AROUND > png.length) return 'a PNG that breaks off';
    const length = png.readUInt32BE(offset);
    const end = offset + AROUND + length;
    if (end > png.length) return 'a PNG that breaks off';
    const body = png.subarray(offset + 4, end - 4);
    if (crc32(body) !== png.readUInt32BE(end - 4)) return 'a PNG that is damaged';
    const type = body.toString('latin1', 0, 4);
    if (index === 0 && (type !== 'IHDR' || length !== 13)) return 'a PNG without a header';
    if (index === 0 && !isScreen(png)) {
      return `a PNG of ${png.readUInt32BE(16)} × ${png.readUInt32BE(20)} pixels, expected at most ${MAX_SIDE} × ${MAX_SIDE}`;
    }
    if (type === 'IEND') return null;
    offset = end;
  }
}

function isScreen(png: Buffer): boolean {
  return [16, 20].every((at) => png.readUInt32BE(at) > 0 && png.readUInt32BE(at) <= MAX_SIDE);
}
