import { crop } from './crop';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

const CHANNELS = 3;

/** Levels of red, green and blue. */
export type Colour = readonly [number, number, number];

const BLACK: Colour = [0, 0, 0];

/** An image within a larger one of one colour, its upper left corner at (x, y). */
export function withMargin(
  image: RgbImage,
  { width, height }: Size,
  { x, y }: { x: number; y: number },
  colour: Colour = BLACK,
): RgbImage {
  const data = new Uint8Array(width * height * CHANNELS);
  if (colour.some((level) => level !== 0)) {
    for (let at = 0; at < data.length; at += CHANNELS) data.set(colour, at);
  }
  const line = image.width * CHANNELS;
  for (let row = 0; row < image.height; row++) {
    data.set(image.data.subarray(row * line, (row + 1) * line), ((y + row) * width + x) * CHANNELS);
  }
  return { data, width, height };
}

/** The image in the middle of a square as large as its longer edge; what does not halve goes to the right and below. */
export function toSquare(image: RgbImage, colour: Colour): RgbImage {
  const edge = Math.max(image.width, image.height);
  if (image.width === image.height) return image;
  const x = Math.floor((edge - image.width) / 2);
  const y = Math.floor((edge - image.height) / 2);
  return withMargin(image, { width: edge, height: edge }, { x, y }, colour);
}

/** The middle of an image; where it is too small, with a black margin around it (`center_crop` of transformers). */
export function centreCrop(image: RgbImage, { width, height }: Size): RgbImage {
  const canvas = { width: Math.max(width, image.width), height: Math.max(height, image.height) };
  const offset = {
    x: Math.ceil((canvas.width - image.width) / 2),
    y: Math.ceil((canvas.height - image.height) / 2),
  };
  const padded =
    canvas.width === image.width && canvas.height === image.height
      ? image
      : withMargin(image, canvas, offset);
  return crop(padded, {
    x: Math.floor((canvas.width - width) / 2),
    y: Math.floor((canvas.height - height) / 2),
    width,
    height,
  });
}
