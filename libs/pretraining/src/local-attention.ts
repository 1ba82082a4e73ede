import type { FloatTensor } from '@ui-rl/models';

/** Neighbor that a head attends to, in patches: [rows, columns]. */
type Offset = readonly [rows: number, columns: number];

const NEIGHBORS: readonly Offset[] = [
  [0, -1],
  [0, 1],
  [-1, 0],
  [1, 0],
];
/** Local heads of each layer; all other heads start with attention to the whole screen. */
const LOCAL_HEADS: readonly (readonly Offset[])[] = [
  NEIGHBORS,
  NEIGHBORS,
  NEIGHBORS,
  [
    [0, -2],
    [0, 2],
  ],
];
/**
 * Score of the preferred patch by rotary frequency, the highest first. With a base of 10,000 and 8 frequencies per
 * axis, the first two separate neighbors and the others suppress distant patches.
 */
const SCORES = [3, 3, 6, 6];

/** Base of the rotary frequencies of Qwen3-VL's vision tower. */
const ROPE_THETA = 10_000;

/**
 * Makes heads of the first layers of a new vision tower attend to a neighboring patch, independent of the content: the
 * biases of queries and keys are unit vectors per rotary frequency, turned by the offset. The tower then starts like a
 * convolution, and training adds attention by content. Compare d'Ascoli et al. 2021 (arXiv:2103.10697, section 3),
 * which uses relative positions.
 */
export function setLocalAttention(
  tensors: ReadonlyMap<string, FloatTensor>,
  { width, heads }: { width: number; heads: number },
): void {
  const headDim = width / heads;
  LOCAL_HEADS.forEach((offsets, layer) => {
    const bias = tensors.get(`model.visual.blocks.${layer}.attn.qkv.bias`)!.data;
    offsets.forEach((offset, head) => {
      const query = bias.subarray(head * headDim);
      const key = bias.subarray(width + head * headDim);
      writeOffset(query, key, offset, headDim);
    });
  });
}

function writeOffset(query: Float32Array, key: Float32Array, offset: Offset, headDim: number): void {
  const frequencies = headDim / 4;
  offset.forEach((patches, axis) => {
    SCORES.forEach((score, index) => {
      const length = Math.sqrt(score * Math.sqrt(headDim));
      const angle = patches * ROPE_THETA ** (-index / frequencies);
      const at = axis * frequencies + index;
      query[at] = length * Math.cos(angle);
      query[at + headDim / 2] = length * Math.sin(angle);
      key[at] = length;
    });
  });
}
