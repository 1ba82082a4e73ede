import { ModelError } from '../errors';
import type { ImageGeometry } from '../families/base';
import { crop, type Box } from './crop';
import { ImageOptions, type Normalization } from './options';
import { toPatches } from './patches';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from './preparation';
import { BILINEAR, resize, type RgbImage } from './resample';
import type { Size } from './smart-resize';

/** Options of the image processor of Idefics2. */
export interface NativeSizeImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Smaller shorter edges are enlarged to this size. */
  shortestEdge: number;
  /** Images with a longer edge are downscaled, with the aspect ratio kept. */
  longestEdge: number;
  /** `do_image_splitting`: whether the quarters of an image precede it. */
  splits: boolean;
  /** Filter of {@link resize}. */
  resample: number;
}

const HALF = [0.5, 0.5, 0.5];

/**
 * @param source where the configuration comes from, for messages.
 * @throws ModelError `bad-config`, or `unsupported` for an option that this lib does not support.
 */
export function parseNativeSizeImages(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): NativeSizeImageConfig {
  const options = new ImageOptions(json, source);
  const size = (json.size ?? {}) as Record<string, unknown>;
  const shortestEdge = options.positive('size.shortest_edge', size.shortest_edge, 378);
  if (shortestEdge < shape.patchSize) {
    throw options.error('size', `a shortest_edge of at least one patch, ${shape.patchSize} pixels`);
  }
  const splits = json.do_image_splitting ?? false;
  if (typeof splits !== 'boolean') throw options.error('do_image_splitting', 'true or false');
  return {
    patchSize: shape.patchSize,
    shortestEdge,
    longestEdge: options.positive('size.longest_edge', size.longest_edge, 980),
    splits,
    resample: options.resample(BILINEAR),
    ...options.normalization(HALF, HALF),
  };
}

/**
 * Images in their native size and aspect ratio, within the limits; partial patches at the right and lower edge are
 * dropped. If images are split, each quarter is a separate picture, resized within the same limits, and may differ in
 * size.
 */
export class NativeSizeImages implements ImagePreparation {
  constructor(readonly config: NativeSizeImageConfig) {}

  geometryOf(size: Size): ImageGeometry {
    const pictures = this.boxesOf(size).map((box) => this.gridOf(this.limited(box)));
    const [rows, columns] = [0, 1].map((axis) => Math.max(...pictures.map((picture) => picture[axis])));
    const grid = [pictures.length, rows, columns] as const;
    const differ = pictures.some((picture) => picture[0] !== rows || picture[1] !== columns);
    return differ ? { grid, pictures } : { grid };
  }

  patchesOf(image: RgbImage): Float32Array {
    const cut = { ...this.config, mergeSize: 1 };
    const pictures = this.boxesOf(image).map((box) => {
      const picture = crop(image, box);
      return toPatches([resize(picture, this.limited(picture), this.config.resample)], cut);
    });
    return joined(pictures);
  }

  shownSize(size: Size): Size {
    return this.limited(size);
  }

  /** The regions of an image to show: its quarters and the whole, or only the whole. */
  private boxesOf({ width, height }: Size): Box[] {
    if (Math.min(width, height) < (this.config.splits ? 2 : 1)) {
      throw new ModelError('bad-input', `the image is ${width}×${height} pixels; expected at least 2×2`);
    }
    const whole = { x: 0, y: 0, width, height };
    if (!this.config.splits) return [whole];
    const [left, top] = [Math.floor(width / 2), Math.floor(height / 2)];
    const [right, bottom] = [width - left, height - top];
    return [
      { x: 0, y: 0, width: left, height: top },
      { x: left, y: 0, width: right, height: top },
      { x: 0, y: top, width: left, height: bottom },
      { x: left, y: top, width: right, height: bottom },
      whole,
    ];
  }

  private limited({ width, height }: Size): Size {
    const { shortestEdge, longestEdge } = this.config;
    const ratio = width / height;
    let limited = { width, height };
    if (width >= height && width > longestEdge) {
      limited = { width: longestEdge, height: Math.trunc(longestEdge / ratio) };
    } else if (height > width && height > longestEdge) {
      limited = { width: Math.trunc(longestEdge * ratio), height: longestEdge };
    }
    return {
      width: Math.max(limited.width, shortestEdge),
      height: Math.max(limited.height, shortestEdge),
    };
  }

  private gridOf({ width, height }: Size): [rows: number, columns: number] {
    const { patchSize } = this.config;
    return [Math.floor(height / patchSize), Math.floor(width / patchSize)];
  }
}

/** Concatenates the patches of pictures in shared memory. */
function joined(pictures: readonly Float32Array[]): Float32Array {
  if (pictures.length === 1) return pictures[0];
  const numbers = pictures.reduce((sum, { length }) => sum + length, 0);
  const all = new Float32Array(new SharedArrayBuffer(numbers * 4));
  let at = 0;
  for (const picture of pictures) {
    all.set(picture, at);
    at += picture.length;
  }
  return all;
}

/** The image processor of Idefics2. */
export const nativeSizeProcessor: ImageProcessorKind = {
  names: ['Idefics2ImageProcessor'],
  parse: (json, source, model) => new NativeSizeImages(parseNativeSizeImages(json, source, model)),
};
