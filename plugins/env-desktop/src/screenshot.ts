import { createHash } from 'node:crypto';
import type { Screenshot } from '@ui-rl/plugin-kit';
import type { ScreenSize } from './desktop-spec';
import type { XConnection } from './x-connection';

/** Low levels are as fast as none, and screens of plain colours still become small. */
const COMPRESSION = 3;

/** Takes screenshots of a display; one that nothing was drawn on since is not taken again. */
export class Camera {
  private last: { screenshot: Screenshot; drawings: number } | null = null;

  constructor(
    private readonly x: XConnection,
    private readonly screen: ScreenSize,
  ) {}

  async take(): Promise<Screenshot> {
    // What was drawn before this is on the picture; its events come before the answer.
    await this.x.sync();
    const { drawings } = this.x;
    if (this.last?.drawings === drawings) return this.last.screenshot;
    const screenshot = await toPng(await this.x.pixels(this.screen), this.screen);
    this.last = { screenshot, drawings };
    return screenshot;
  }
}

async function toPng(pixels: Buffer, { width, height }: ScreenSize): Promise<Screenshot> {
  // Loaded here: processes that only list plugins need no image library.
  const { default: sharp } = await import('sharp');
  const raw = { width, height, channels: 3 } as const;
  const { data: png } = await sharp(toRgb(pixels, width * height), { raw })
    .png({ compressionLevel: COMPRESSION })
    .toBuffer({ resolveWithObject: true });
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width, height };
}

/** From blue, green, red and nothing, a byte each. */
function toRgb(pixels: Buffer, count: number): Buffer {
  const rgb = Buffer.allocUnsafe(3 * count);
  for (let i = 0, from = 0, to = 0; i < count; i++, from += 4, to += 3) {
    rgb[to] = pixels[from + 2];
    rgb[to + 1] = pixels[from + 1];
    rgb[to + 2] = pixels[from];
  }
  return rgb;
}
