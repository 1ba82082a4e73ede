import { crop } from './crop';
import type { RgbImage } from './resample';
import type { Size } from './smart-resize';

const CHANNELS = 3;

/** Red, green and blue levels. */
export type Colour = readonly [number, number, number];

const BLACK: Colour = [0, 0, 0];

/** An image on a larger canvas of one colour, with its upper left corner at (x, y). */
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

/**
 * Pads an image to a square with the size of its longer edge, centred; an odd remainder goes to the right and bottom.
 */
export function toSquare(image: RgbImage, colour: Colour): RgbImage {
  const edge = Math.max(image.width, image.height);
  if (image.width === image.height) return image;
  const x = Math.floor((edge - image.width) / 2);
  const y = Math.floor((edge - image.height) / 2);
  return withMargin(image, { width: edge, height: edge }, { x, y }, colour);
}

/** The centre of an image; a smaller image is padded with black (`center_crop` of transformers). */
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
