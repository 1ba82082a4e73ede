import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

/** A region of an image: its upper left corner and its size. */
export interface Box extends Size {
  x: number;
  y: number;
}

const CHANNELS = 3;

/** Copies a region that lies within the image. */
export function crop(image: RgbImage, { x, y, width, height }: Box): RgbImage {
  const data = new Uint8Array(width * height * CHANNELS);
  for (let row = 0; row < height; row++) {
    const from = ((y + row) * image.width + x) * CHANNELS;
    data.set(image.data.subarray(from, from + width * CHANNELS), row * width * CHANNELS);
  }
  return { data, width, height };
}
