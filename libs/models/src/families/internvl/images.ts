import type { ImageGeometry } from '../base';
import { crop } from '../../image/crop';
import { ImageOptions, type Normalization } from '../../image/options';
import { toPatches } from '../../image/patches';
import type { ImageModel, ImagePreparation, ImageProcessorKind } from '../../image/preparation';
import { BICUBIC, resize, type RgbImage } from '../../image/resample';
import type { Size } from '../../image/smart-resize';

/** Options of GotOcr2ImageProcessor, the image processor of InternVL. */
export interface GotOcr2ImageConfig extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** `size`: edge length in pixels of tiles and overviews. */
  tileSize: number;
  /** `min_patches`, `max_patches`: number of tiles per image. */
  minTiles: number;
  maxTiles: number;
  /** Filter of {@link resize}. */
  resample: number;
}

const DEFAULT_TILE = 384;
/** Many times the number of any published model. */
const MAX_TILES = 256;

/**
 * Ignores `crop_to_patches`: the processor of InternVL in transformers overrides it with true.
 * @param source name of the configuration file, for errors.
 * @throws ModelError `bad-config`, or `unsupported` for an unsupported option.
 */
export function parseGotOcr2Images(
  json: Record<string, unknown>,
  source: string,
  { shape }: ImageModel,
): GotOcr2ImageConfig {
  const options = new ImageOptions(json, source);
  const count = (name: string, fallback: number): number => {
    const value = options.positive(name, json[name], fallback);
    if (!Number.isInteger(value) || value > MAX_TILES) {
      throw options.error(name, `a whole number of tiles, at most ${MAX_TILES}`);
    }
    return value;
  };
  const size = options.size('size') ?? { width: DEFAULT_TILE, height: DEFAULT_TILE };
  if ('shortestEdge' in size || size.width !== size.height) {
    throw options.error('size', 'equal height and width');
  }
  if (size.width < shape.patchSize) {
    throw options.error('size', `at least one patch, ${shape.patchSize} pixels`);
  }
  return {
    patchSize: shape.patchSize,
    tileSize: size.width,
    minTiles: count('min_patches', 1),
    maxTiles: count('max_patches', 12),
    resample: options.resample(BICUBIC),
    ...options.normalization(),
  };
}

type Tiling = [rows: number, columns: number];

/** All tilings with an allowed number of tiles, in ascending order of that number. */
function tilingsOf({ minTiles, maxTiles }: GotOcr2ImageConfig): Tiling[] {
  const counts = Array.from({ length: maxTiles }, (_, index) => index + 1);
  return counts
    .flatMap((columns) => counts.map((rows): Tiling => [rows, columns]))
    .filter(([rows, columns]) => rows * columns >= minTiles && rows * columns <= maxTiles)
    .toSorted(([a, b], [c, d]) => a * b - c * d);
}

/**
 * Resizes images to the tiling with the nearest aspect ratio, and cuts them into square tiles of one size. An
 * overview of the same size follows, unless there is only one tile. Among tilings of equal aspect ratio, it takes the
 * larger one if the image has more than half of its pixels (`get_optimal_tiled_canvas` of transformers).
 */
export class GotOcr2Images implements ImagePreparation {
  private readonly tilings: readonly Tiling[];

  constructor(readonly config: GotOcr2ImageConfig) {
    this.tilings = tilingsOf(config);
  }

  geometryOf(size: Size): ImageGeometry {
    const { tileSize, patchSize } = this.config;
    const side = Math.floor(tileSize / patchSize);
    const tiles = this.tilesOf(size);
    const count = tiles[0] * tiles[1];
    return count === 1 ? { grid: [1, side, side] } : { grid: [count + 1, side, side], tiles };
  }

  shownSize(size: Size): Size {
    const { tileSize } = this.config;
    const [rows, columns] = this.tilesOf(size);
    return { width: columns * tileSize, height: rows * tileSize };
  }

  patchesOf(image: RgbImage): Float32Array {
    const { tileSize: edge, resample } = this.config;
    const [rows, columns] = this.tilesOf(image);
    const whole = resize(image, this.shownSize(image), resample);
    const tiles = Array.from({ length: rows * columns }, (_, index) =>
      crop(whole, {
        x: (index % columns) * edge,
        y: Math.floor(index / columns) * edge,
        width: edge,
        height: edge,
      }),
    );
    const overview = tiles.length === 1 ? [] : [resize(image, { width: edge, height: edge }, resample)];
    return toPatches([...tiles, ...overview], { ...this.config, mergeSize: 1 });
  }

  private tilesOf({ width, height }: Size): Tiling {
    const { tileSize } = this.config;
    let [best, least]: [Tiling, number] = [[1, 1], Infinity];
    for (const tiling of this.tilings) {
      const [rows, columns] = tiling;
      const difference = Math.abs(width / height - columns / rows);
      const isFilled = width * height > 0.5 * tileSize * tileSize * columns * rows;
      if (difference < least || (difference === least && isFilled)) best = tiling;
      least = Math.min(least, difference);
    }
    return best;
  }
}

/** The image processor of InternVL. */
export const gotOcr2Processor: ImageProcessorKind = {
  names: ['GotOcr2ImageProcessor'],
  parse: (json, source, model) => new GotOcr2Images(parseGotOcr2Images(json, source, model)),
};
