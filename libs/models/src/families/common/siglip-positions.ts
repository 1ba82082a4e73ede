const { fround } = Math;

/** Just below 1: the last patch stays inside the last bucket. */
const BELOW_ONE = fround(1 - 1e-6);

/**
 * Entries of one axis of the learned table for `count` patches along it: patch i lies at i / count of the picture,
 * and takes the entry that covers this fraction (NaViT's fractional positions, arXiv:2307.06304, as Idefics2 and
 * Idefics3 use them). In float32, as the reference computes it: some patches of a full axis round down to the
 * previous entry.
 *
 * @param side entries of the axis.
 */
export function bucketedPositions(count: number, side: number): Int32Array {
  const step = fround(1 / count);
  const boundaries = bucketBoundaries(side);
  return Int32Array.from({ length: count }, (_, index) => {
    const place = Math.min(fround(index * step), BELOW_ONE);
    let bucket = 0;
    while (bucket < boundaries.length && boundaries[bucket] <= place) bucket++;
    return bucket;
  });
}

/** Boundaries between entries: 1/side, 2/side, … below 1, in the steps of `torch.arange`. */
function bucketBoundaries(side: number): Float32Array {
  const step = 1 / side;
  return Float32Array.from({ length: Math.ceil((1 - step) / step) }, (_, index) => step + index * step);
}

/**
 * Entries [h · w] of the learned, square table for the patches of a picture, row after row.
 *
 * @param side rows (= columns) of the table.
 */
export function bucketedPositionIds(h: number, w: number, side: number): Int32Array {
  const [rows, columns] = [bucketedPositions(h, side), bucketedPositions(w, side)];
  return Int32Array.from(
    { length: h * w },
    (_, index) => rows[Math.floor(index / w)] * side + columns[index % w],
  );
}
