import { ModelError } from '../errors';
import type { ImageGeometry } from '../families/base';
import { meanColour } from './clip';
import { crop } from './crop';
import { toSquare, withMargin } from './margin';
import { ImageOptions, type Normalization } from './options';
import { toPatches, type PatchCut } from './patches';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from './preparation';
import { BICUBIC, resize, type RgbImage } from './resample';
import type { Size } from './smart-resize';

/** Options of the image processor of LLaVA-OneVision. */
export interface LlavaOneVisionImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Size of a tile, and of the overview, along both axes in pixels. */
  tileSize: number;
  /** `image_grid_pinpoints` in tiles: the allowed tilings. */
  tilings: readonly (readonly [rows: number, columns: number])[];
  /** Filter of {@link resize}. */
  resample: number;
}

const DEFAULT_TILE = 384;
const DEFAULT_TILES = [1, 2, 3, 4, 5, 6];

/**
 * @param source where the configuration comes from, for messages.
 * @throws ModelError `bad-config`, or `unsupported` for an option that this lib does not support.
 */
export function parseLlavaOneVisionImages(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): LlavaOneVisionImageConfig {
  const options = new ImageOptions(json, source);
  if (options.flag('do_center_crop', false)) throw options.error('do_center_crop', 'false');
  const size = options.size('size') ?? { shortestEdge: DEFAULT_TILE };
  if (!('shortestEdge' in size) && size.width !== size.height) throw options.error('size', 'a square');
  const tileSize = 'shortestEdge' in size ? size.shortestEdge : size.width;
  return {
    patchSize: shape.patchSize,
    tileSize,
    tilings: parseTilings(json.image_grid_pinpoints, tileSize, options),
    resample: options.resample(BICUBIC),
    ...options.normalization(),
  };
}

function parseTilings(
  value: unknown,
  tileSize: number,
  options: ImageOptions,
): LlavaOneVisionImageConfig['tilings'] {
  if (value === undefined || value === null) {
    return DEFAULT_TILES.flatMap((rows) => DEFAULT_TILES.map((columns) => [rows, columns] as const));
  }
  const isTiling = (edges: unknown): edges is [number, number] =>
    Array.isArray(edges) &&
    edges.length === 2 &&
    edges.every((edge) => typeof edge === 'number' && edge > 0 && edge % tileSize === 0);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isTiling)) {
    throw options.error('image_grid_pinpoints', `pairs of height and width, multiples of ${tileSize}`);
  }
  return value.map(([height, width]) => [height / tileSize, width / tileSize]);
}

/** The tiling that preserves the most pixels of an image, and among those the one with the least padding. */
function bestTiling(
  { width, height }: Size,
  { tilings, tileSize }: LlavaOneVisionImageConfig,
): [number, number] {
  let best: readonly [number, number] | undefined;
  let [mostKept, leastWasted] = [0, Infinity];
  for (const tiling of tilings) {
    const [high, wide] = [tiling[0] * tileSize, tiling[1] * tileSize];
    const scale = Math.min(wide / width, high / height);
    const scaled = Math.trunc(width * scale) * Math.trunc(height * scale);
    const kept = Math.min(scaled, width * height);
    const wasted = wide * high - kept;
    if (kept > mostKept || (kept === mostKept && wasted < leastWasted)) {
      [best, mostKept, leastWasted] = [tiling, kept, wasted];
    }
  }
  if (best === undefined) {
    throw new ModelError(
      'bad-input',
      `the image is ${width}×${height} pixels; nothing would be left of it in any tiling of image_grid_pinpoints`,
    );
  }
  return [...best];
}

/** Size of the image within its tiles: one axis fills them, the aspect ratio is kept. */
function sizeWithin({ width, height }: Size, room: Size): Size {
  const [wide, high] = [room.width / width, room.height / height];
  return wide < high
    ? { width: room.width, height: Math.min(Math.ceil(height * wide), room.height) }
    : { width: Math.min(Math.ceil(width * high), room.width), height: room.height };
}

/** Rows and columns of the tiles' patches that show the image (`unpad_image` of transformers). */
function shownPatches({ width, height }: Size, [rows, columns]: readonly [number, number]): [number, number] {
  const within = (edge: number, all: number): number =>
    all - 2 * Math.floor((all - Math.trunc(Math.round(edge * 1e7) / 1e7)) / 2);
  return width / height > columns / rows
    ? [within(height * (columns / width), rows), columns]
    : [rows, within(width * (rows / height), columns)];
}

/** An overview of the whole image, then its tiles: the image resized to the best tiling, with black padding. */
export class LlavaOneVisionImages implements ImagePreparation {
  readonly amongOthers: ImagePreparation;

  constructor(readonly config: LlavaOneVisionImageConfig) {
    this.amongOthers = new SquareImages(config);
  }

  geometryOf(size: Size): ImageGeometry {
    const side = sideOf(this.config);
    const tiles = bestTiling(size, this.config);
    const shown = shownPatches(size, [tiles[0] * side, tiles[1] * side]);
    return { grid: [1 + tiles[0] * tiles[1], side, side], tiles, shown };
  }

  /** Without the black padding, which the model does not see. */
  shownSize(size: Size): Size {
    return sizeWithin(size, this.roomFor(size));
  }

  patchesOf(image: RgbImage): Float32Array {
    const { tileSize: edge, resample } = this.config;
    const [rows, columns] = bestTiling(image, this.config);
    const room = this.roomFor(image);
    const resized = resize(image, this.shownSize(image), resample);
    const whole = withMargin(resized, room, {
      x: Math.floor((room.width - resized.width) / 2),
      y: Math.floor((room.height - resized.height) / 2),
    });
    const tiles = Array.from({ length: rows * columns }, (_, index) =>
      crop(whole, {
        x: (index % columns) * edge,
        y: Math.floor(index / columns) * edge,
        width: edge,
        height: edge,
      }),
    );
    const overview = resize(image, { width: edge, height: edge }, resample);
    return toPatches([overview, ...tiles], cutOf(this.config));
  }

  /** Total size of the tiles in pixels. */
  private roomFor(size: Size): Size {
    const { tileSize } = this.config;
    const [rows, columns] = bestTiling(size, this.config);
    return { width: columns * tileSize, height: rows * tileSize };
  }
}

/** One picture per image: padded to a square with the mean colour, and resized. */
class SquareImages implements ImagePreparation {
  constructor(private readonly config: LlavaOneVisionImageConfig) {}

  geometryOf(): ImageGeometry {
    const side = sideOf(this.config);
    return { grid: [1, side, side] };
  }

  /** Includes the margin. */
  shownSize(): Size {
    const { tileSize } = this.config;
    return { width: tileSize, height: tileSize };
  }

  patchesOf(image: RgbImage): Float32Array {
    const { tileSize: edge, resample } = this.config;
    const square = toSquare(image, meanColour(this.config));
    return toPatches([resize(square, { width: edge, height: edge }, resample)], cutOf(this.config));
  }
}

function sideOf({ tileSize, patchSize }: LlavaOneVisionImageConfig): number {
  return Math.floor(tileSize / patchSize);
}

function cutOf(config: LlavaOneVisionImageConfig): PatchCut {
  return { ...config, mergeSize: 1 };
}

/** The image processor of LLaVA-OneVision. */
export const llavaOneVisionProcessor: ImageProcessorKind = {
  names: ['LlavaOnevisionImageProcessor'],
  parse: (json, source, model) => new LlavaOneVisionImages(parseLlavaOneVisionImages(json, source, model)),
};
