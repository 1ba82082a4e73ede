import { createHash } from 'node:crypto';
import { DeviceError, type Screenshot } from '@ui-rl/plugin-kit';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Offsets of width and height, and the end of the header chunk of a PNG. */
const [WIDTH_AT, HEIGHT_AT, HEADER_END] = [16, 20, 24];
const MAX_SIDE = 16_384;

/**
 * Parses the output of `screencap -p`. The size is that of the screen in its current orientation; some devices write
 * warnings before the image.
 */
export function screenshotOf(output: Buffer, serial: string): Screenshot {
  const start = output.indexOf(SIGNATURE);
  if (start < 0 || output.length < start + HEADER_END) {
    const said = output.subarray(0, 100).toString('latin1');
    throw new DeviceError('crashed', `${serial}: screencap gave no PNG, but ${JSON.stringify(said)}`);
  }
  const png = new Uint8Array(output.subarray(start));
  const header = Buffer.from(png.buffer);
  const [width, height] = [header.readUInt32BE(WIDTH_AT), header.readUInt32BE(HEIGHT_AT)];
  if (![width, height].every((side) => side > 0 && side <= MAX_SIDE)) {
    throw new DeviceError('crashed', `${serial}: screencap gave an image of ${width} × ${height} pixels`);
  }
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}
