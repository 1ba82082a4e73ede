import { ModelError } from '../errors';
import type { ImageGeometry } from '../families/base';
import { crop } from './crop';
import { ImageOptions, type Normalization } from './options';
import { toPatches } from './patches';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from './preparation';
import { LANCZOS, resize, type RgbImage } from './resample';
import type { Size } from './smart-resize';

/** Options of the image processors of Idefics3 and SmolVLM. */
export interface TiledImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** `size.longest_edge`: the longer edge of every image after the first resize. */
  longestEdge: number;
  /** `max_image_size.longest_edge`: size of a tile, and of the overview, along both axes in pixels. */
  tileSize: number;
  /** `do_image_splitting`: whether to cut an image larger than a tile; otherwise it consists of the overview only. */
  splits: boolean;
  /** Filter of {@link resize}. */
  resample: number;
}

const HALF = [0.5, 0.5, 0.5];

/** Maximum edge of a resized image. */
const LARGEST_EDGE = 4096;

/**
 * @param source where the configuration comes from, for messages.
 * @throws ModelError `bad-config`, or `unsupported` for an option that this lib does not support.
 */
export function parseTiledImages(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): TiledImageConfig {
  const options = new ImageOptions(json, source);
  const edge = (name: string, fallback: number): number => {
    const value = json[name] as Record<string, unknown> | null | undefined;
    return options.positive(`${name}.longest_edge`, value?.longest_edge, fallback);
  };
  const splits = json.do_image_splitting ?? true;
  if (typeof splits !== 'boolean') throw options.error('do_image_splitting', 'true or false');
  return {
    patchSize: shape.patchSize,
    longestEdge: edge('size', 4 * 364),
    tileSize: edge('max_image_size', 364),
    splits,
    resample: options.resample(LANCZOS),
    ...options.normalization(HALF, HALF),
  };
}

/**
 * Images cut into square tiles of one size, followed by an overview of the same size. An image is resized three
 * times, in 8 bits each: to the longest edge, to whole tiles, and from there to the overview.
 */
export class TiledImages implements ImagePreparation {
  constructor(readonly config: TiledImageConfig) {}

  geometryOf(size: Size): ImageGeometry {
    const { patchSize, tileSize } = this.config;
    const tiles = this.tilesOf(this.firstSize(size));
    const patches = Math.floor(tileSize / patchSize);
    return tiles === undefined
      ? { grid: [1, patches, patches] }
      : { grid: [tiles[0] * tiles[1] + 1, patches, patches], tiles };
  }

  patchesOf(image: RgbImage): Float32Array {
    const { tileSize: edge, resample } = this.config;
    const first = resize(image, this.firstSize(image), resample);
    const tiles = this.tilesOf(first);
    if (tiles === undefined) {
      return toPatches([resize(first, { width: edge, height: edge }, resample)], this.cut);
    }
    const [rows, columns] = tiles;
    const whole = resize(first, this.shownSize(image), resample);
    const pictures = Array.from({ length: rows * columns }, (_, index) =>
      crop(whole, {
        x: (index % columns) * edge,
        y: Math.floor(index / columns) * edge,
        width: edge,
        height: edge,
      }),
    );
    return toPatches([...pictures, resize(whole, { width: edge, height: edge }, resample)], this.cut);
  }

  shownSize(size: Size): Size {
    const { tileSize } = this.config;
    const [rows, columns] = this.tilesOf(this.firstSize(size)) ?? [1, 1];
    return { width: columns * tileSize, height: rows * tileSize };
  }

  private get cut(): TiledImageConfig & { mergeSize: number } {
    return { ...this.config, mergeSize: 1 };
  }

  /** The longer edge as configured; the shorter one in proportion, truncated, then rounded up to an even number. */
  private firstSize({ width, height }: Size): Size {
    if (Math.min(width, height) < 1) {
      throw new ModelError('bad-input', `the image is ${width}×${height} pixels; expected at least 1×1`);
    }
    const { longestEdge } = this.config;
    const ratio = width / height;
    const even = (edge: number): number => Math.max(1, edge + (edge % 2));
    const scaled =
      width >= height
        ? { width: longestEdge, height: even(Math.trunc(longestEdge / ratio)) }
        : { width: even(Math.trunc(longestEdge * ratio)), height: longestEdge };
    return within(scaled, LARGEST_EDGE);
  }

  /** Rows and columns of tiles of an image of this size; undefined if it is not cut. */
  private tilesOf({ width, height }: Size): [rows: number, columns: number] | undefined {
    const { tileSize, splits } = this.config;
    if (!splits) return undefined;
    const ratio = width / height;
    const tilesIn = (edge: number): number => Math.ceil(edge / tileSize);
    const rounded = (edge: number): number => tilesIn(edge) * tileSize;
    const tiles: [number, number] =
      width >= height
        ? [tilesIn(Math.trunc(rounded(width) / ratio)), tilesIn(width)]
        : [tilesIn(height), tilesIn(Math.trunc(rounded(height) * ratio))];
    return tiles[0] === 1 && tiles[1] === 1 ? undefined : tiles;
  }
}

/** The size scaled down so that no edge exceeds the limit. */
function within({ width, height }: Size, longest: number): Size {
  const ratio = width / height;
  if (width >= height && width > longest) {
    return { width: longest, height: Math.max(1, Math.trunc(longest / ratio)) };
  }
  if (height > width && height > longest) {
    return { width: Math.max(1, Math.trunc(longest * ratio)), height: longest };
  }
  return { width, height };
}

/** The image processor of Idefics3 and SmolVLM. */
export const tiledProcessor: ImageProcessorKind = {
  names: ['Idefics3ImageProcessor', 'SmolVLMImageProcessor'],
  parse: (json, source, model) => new TiledImages(parseTiledImages(json, source, model)),
};
