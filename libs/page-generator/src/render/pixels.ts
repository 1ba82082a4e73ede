import sharp from 'sharp';

/** Pixels of a rectangle, 3 bytes each. */
export interface Raster {
  width: number;
  height: number;
  rgb: Uint8Array;
}

/** Pixels of a screenshot. */
export async function decodePng(png: Buffer): Promise<Raster> {
  const { data, info } = await sharp(png).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, rgb: data };
}

/** A copy of a part of a raster. */
export function cut(from: Raster, left: number, top: number, width: number, height: number): Uint8Array {
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    const start = ((top + y) * from.width + left) * 3;
    rgb.set(from.rgb.subarray(start, start + width * 3), y * width * 3);
  }
  return rgb;
}
