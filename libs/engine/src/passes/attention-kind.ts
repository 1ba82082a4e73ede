import type { TensorLocation } from '@ui-rl/graph';
import type { AttentionKind } from '@ui-rl/models';

/** Beyond this many positions, the full score matrix would take gigabytes. */
const LONG = 2048;
/** Beyond this many, the scores of a large block would take more than 128 MiB, with 16 heads. */
const LONG_ON_GPU = 4096;
/** Scores per head that a training pass may hold at once on a GPU: 2048 tokens in two sequences. */
const MOST_SCORES = 2 ** 21;

/**
 * The attention algorithm for this many positions (tokens of a row, patches of an image).
 * @param location where the device keeps tensors
 */
export function attentionFor(places: number, location: TensorLocation): AttentionKind {
  return places > LONG ? blocksFor(places, location) : 'whole';
}

/**
 * The attention algorithm of a pass in layers, which saves memory. Each block of a loop makes a GPU wait for the host,
 * so there it is used only where the scores need too much.
 */
export function layerAttention(rows: number, places: number, location: TensorLocation): AttentionKind {
  const isWhole = location === 'gpu-buffer' && rows * places ** 2 <= MOST_SCORES;
  return isWhole ? 'whole' : blocksFor(places, location);
}

function blocksFor(places: number, location: TensorLocation): AttentionKind {
  return location === 'gpu-buffer' && places <= LONG_ON_GPU ? 'large blocks' : 'blocks';
}
