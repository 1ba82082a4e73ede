import type { Normalization } from './options';
import type { RgbImage } from './resample';

/** How to cut a picture into patches. */
export interface PatchCut extends Normalization {
  /** Pixels per patch and axis. */
  patchSize: number;
  /** Patches are grouped in blocks of this many rows and columns, row by row within a block. */
  mergeSize: number;
}

/**
 * Cuts pictures of one size into normalized patches; drops partial patches at the right and lower edge.
 *
 * @returns row-major [P, 3 · patchSize²]: picture after picture, patches in merge-block order, each channel by
 *   channel. Where processors of transformers repeat the picture for every frame of a patch, it occurs once here, and
 *   models sum their kernel's frames.
 */
export function toPatches(pictures: readonly RgbImage[], cut: PatchCut): Float32Array {
  const { patchSize, mergeSize } = cut;
  const length = 3 * patchSize * patchSize;
  const [rows, columns] = [pictures[0].height, pictures[0].width].map((edge) => Math.floor(edge / patchSize));
  const tables = normalizationTables(cut);
  // Shared memory passes between threads without a copy.
  const patches = new Float32Array(new SharedArrayBuffer(pictures.length * rows * columns * length * 4));
  let at = 0;
  for (const picture of pictures) {
    for (let blockRow = 0; blockRow < rows; blockRow += mergeSize) {
      for (let blockColumn = 0; blockColumn < columns; blockColumn += mergeSize) {
        for (let inner = 0; inner < mergeSize * mergeSize; inner++, at += length) {
          const y = (blockRow + Math.floor(inner / mergeSize)) * patchSize;
          const x = (blockColumn + (inner % mergeSize)) * patchSize;
          writePatch(patches.subarray(at, at + length), picture, { x, y }, patchSize, tables);
        }
      }
    }
  }
  return patches;
}

function writePatch(
  patch: Float32Array,
  { data, width }: RgbImage,
  { x, y }: { x: number; y: number },
  patchSize: number,
  tables: readonly Float32Array[],
): void {
  for (let channel = 0; channel < 3; channel++) {
    const first = channel * patchSize * patchSize;
    for (let row = 0; row < patchSize; row++) {
      const line = ((y + row) * width + x) * 3 + channel;
      for (let column = 0; column < patchSize; column++) {
        patch[first + row * patchSize + column] = tables[channel][data[line + 3 * column]];
      }
    }
  }
}

const { fround } = Math;

/**
 * The normalized value of each of the 256 levels, per channel: rescaling folded into mean and deviation, in float32.
 */
function normalizationTables({ mean, std, rescaleFactor }: Normalization): Float32Array[] {
  const scale = fround(1 / rescaleFactor);
  return [0, 1, 2].map((channel) => {
    const center = fround(fround(mean[channel]) * scale);
    const spread = fround(fround(std[channel]) * scale);
    return Float32Array.from({ length: 256 }, (_, level) => fround(level - center) / spread);
  });
}
