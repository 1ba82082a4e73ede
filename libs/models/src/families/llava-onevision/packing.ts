import { ModelError } from '../../errors';
import type { ImageGeometry } from '../base';

/** Features are downsampled only if they exceed the limit by more than this factor per axis. */
const TOLERANCE = 1.1;

/**
 * Composition of an image's features from those of its pictures. Each is a weighted sum of `taps` rows; row -1 is the
 * learned `image_newline`.
 */
export interface Packing {
  /** [features, taps] rows of the image's stacked pictures */
  rows: Int32Array;
  /** [features, taps] */
  weights: Float32Array;
  taps: number;
}

/** Rows and columns of the combined features of an image's tiles. */
interface TileFeatures {
  rows: number;
  columns: number;
}

const { fround } = Math;

/** The features that show the image, without the margin around it. */
function areaOf({ tiles, shown }: ImageGeometry): TileFeatures {
  if (tiles === undefined || shown === undefined) {
    throw new ModelError('bad-input', 'an image of several pictures must say how they lie');
  }
  return { rows: shown[0], columns: shown[1] };
}

/** The downsampled size if the tiles have too many features; otherwise unchanged. */
function shrunk({ rows, columns }: TileFeatures, side: number, maxTiles: number): TileFeatures {
  const ratio = Math.sqrt((rows * columns) / (maxTiles * side ** 2));
  if (ratio <= TOLERANCE) return { rows, columns };
  return { rows: Math.floor(rows / ratio), columns: Math.floor(columns / ratio) };
}

/**
 * Number of features of an image: those of its first picture, and the rows of its tiles' features, each with a
 * newline.
 */
export function packedFeatures(image: ImageGeometry, side: number, maxTiles: number): number {
  if (image.grid[0] === 1) return side ** 2 + 1;
  const { rows, columns } = shrunk(areaOf(image), side, maxTiles);
  return side ** 2 + rows * (columns + 1);
}

/** The two entries adjacent to target `index` of `target` among `source` ones, without aligned corners (PyTorch). */
function tapsOf(
  index: number,
  source: number,
  target: number,
): { at: [number, number]; weight: [number, number] } {
  const place = Math.max(0, fround(fround(fround(source / target) * (index + 0.5)) - 0.5));
  const floor = Math.min(Math.floor(place), source - 1);
  const fraction = fround(place - floor);
  return { at: [floor, Math.min(floor + 1, source - 1)], weight: [fround(1 - fraction), fraction] };
}

/**
 * The order of an image's features (`pack_image_features` of transformers): first the overview; then the tiles'
 * features combined to one picture, without the margin around the image, downsampled bilinearly if there are too
 * many.
 *
 * @param side rows (= columns) of features of a picture.
 */
export function packImage(image: ImageGeometry, side: number, maxTiles: number): Packing {
  const overview = Array.from({ length: side ** 2 }, (_, row) => row);
  if (image.grid[0] === 1) return single([...overview, -1]);
  const area = areaOf(image);
  const [tileRows, tileColumns] = image.tiles!;
  const [top, left] = [(tileRows * side - area.rows) / 2, (tileColumns * side - area.columns) / 2];
  const rowAt = (row: number, column: number): number => {
    const [y, x] = [row + top, column + left];
    const tile = 1 + Math.floor(y / side) * tileColumns + Math.floor(x / side);
    return tile * side ** 2 + (y % side) * side + (x % side);
  };
  const target = shrunk(area, side, maxTiles);
  if (target.rows === area.rows && target.columns === area.columns) {
    const lines = Array.from({ length: area.rows }, (_, row) => [
      ...Array.from({ length: area.columns }, (__, column) => rowAt(row, column)),
      -1,
    ]);
    return single([...overview, ...lines.flat()]);
  }
  return interpolated(overview, area, target, rowAt);
}

function single(rows: number[]): Packing {
  return { rows: Int32Array.from(rows), weights: new Float32Array(rows.length).fill(1), taps: 1 };
}

function interpolated(
  overview: readonly number[],
  area: TileFeatures,
  target: TileFeatures,
  rowAt: (row: number, column: number) => number,
): Packing {
  const features = overview.length + target.rows * (target.columns + 1);
  const rows = new Int32Array(features * 4);
  const weights = new Float32Array(features * 4);
  let at = 0;
  const plain = (row: number): void => {
    rows[at] = row;
    weights[at] = 1;
    at += 4;
  };
  overview.forEach(plain);
  for (let row = 0; row < target.rows; row++) {
    const vertical = tapsOf(row, area.rows, target.rows);
    for (let column = 0; column < target.columns; column++, at += 4) {
      const horizontal = tapsOf(column, area.columns, target.columns);
      for (let tap = 0; tap < 4; tap++) {
        const [v, h] = [tap >> 1, tap & 1];
        rows[at + tap] = rowAt(vertical.at[v], horizontal.at[h]);
        weights[at + tap] = vertical.weight[v] * horizontal.weight[h];
      }
    }
    plain(-1);
  }
  return { rows, weights, taps: 4 };
}
