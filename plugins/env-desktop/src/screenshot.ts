import { createHash } from 'node:crypto';
import { zoomRegion, type Screenshot, type ZoomAction } from '@ui-rl/plugin-kit';
import type { ScreenSize } from './desktop-spec';
import type { XConnection } from './x-connection';

/** Low levels are as fast as no compression, and screens of plain colors still become small. */
const COMPRESSION = 3;

/** Takes screenshots of a display; reuses the last one if nothing was drawn since. */
export class Camera {
  private last: { screenshot: Screenshot; drawings: number } | null = null;

  constructor(
    private readonly x: XConnection,
    private readonly screen: ScreenSize,
  ) {}

  async take(): Promise<Screenshot> {
    // Everything drawn before the reply is in the picture; its damage events arrive before the reply.
    await this.x.sync();
    const { drawings } = this.x;
    if (this.last?.drawings === drawings) return this.last.screenshot;
    const screenshot = await toPng(await this.x.pixels(this.screen), this.screen);
    this.last = { screenshot, drawings };
    return screenshot;
  }
}

/** The region of a zoom in the same number of pixels. */
export async function zoomed({ png, width, height }: Screenshot, zoom: ZoomAction): Promise<Screenshot> {
  const { default: sharp } = await import('sharp');
  const region = zoomRegion(zoom, { width, height });
  const part = {
    left: Math.floor(region.x),
    top: Math.floor(region.y),
    width: Math.max(1, Math.floor(region.width)),
    height: Math.max(1, Math.floor(region.height)),
  };
  const enlarged = sharp(Buffer.from(png)).extract(part).resize(width, height, { fit: 'fill' });
  return screenshotOf(await enlarged.png({ compressionLevel: COMPRESSION }).toBuffer(), { width, height });
}

async function toPng(pixels: Buffer, { width, height }: ScreenSize): Promise<Screenshot> {
  // Imported here so that processes that only list plugins do not load an image library.
  const { default: sharp } = await import('sharp');
  const raw = { width, height, channels: 3 } as const;
  const { data: png } = await sharp(toRgb(pixels, width * height), { raw })
    .png({ compressionLevel: COMPRESSION })
    .toBuffer({ resolveWithObject: true });
  return screenshotOf(png, { width, height });
}

function screenshotOf(png: Buffer, { width, height }: ScreenSize): Screenshot {
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}

/** Converts from blue, green, red, padding; one byte each. */
function toRgb(pixels: Buffer, count: number): Buffer {
  const rgb = Buffer.allocUnsafe(3 * count);
  for (let i = 0, from = 0, to = 0; i < count; i++, from += 4, to += 3) {
    rgb[to] = pixels[from + 2];
    rgb[to + 1] = pixels[from + 1];
    rgb[to + 2] = pixels[from];
  }
  return rgb;
}
