import type { ModelFolder } from '@ui-rl/models';
import sharp from 'sharp';

export interface Shown {
  png: Uint8Array;
  sha256: string;
}

/** Screenshots of one color, each another one. */
export async function screens(
  folder: ModelFolder,
  size: { width: number; height: number },
  count: number,
): Promise<Shown[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const background = { r: index % 256, g: 255 - (index % 256), b: 99 };
      const png = await sharp({ create: { ...size, channels: 3, background } })
        .png()
        .toBuffer();
      return { png, sha256: (await folder.imageProcessor.measure(png)).sha256 };
    }),
  );
}
