import type { FloatTensor } from '@ui-rl/models';

export interface DecoderShape {
  width: number;
  headDim: number;
  /** Key/value heads. */
  keyHeads: number;
  /** Query heads. */
  heads: number;
}

/** Rotary frequencies, of 16, that barely turn over the length of a prompt: matches must not depend on places. */
const SLOW = { first: 9, count: 7 };
/** Components that a head compares: two dimensions for each slow frequency. */
export const COMPONENTS = 2 * SLOW.count;

/** The dimension of a head that compares a component: rotary encoding turns dimensions i and i + headDim / 2 together. */
export function dimensionOf(index: number, headDim: number): number {
  const half = index < SLOW.count ? 0 : headDim / 2;
  return half + SLOW.first + (index % SLOW.count);
}

/** Dimensions of the heads of a projection, each a direction of the residual stream. */
interface HeadDirections {
  /** Sets all dimensions of a head to zero. */
  clear(head: number): void;
  set(head: number, dimension: number, direction: ArrayLike<number>, scale: number): void;
}

type Tensors = ReadonlyMap<string, FloatTensor>;

/** The directions that the heads of a layer read from the residual stream. */
export function headInputs(
  tensors: Tensors,
  layer: number,
  of: 'q' | 'k' | 'v',
  { width, headDim }: DecoderShape,
): HeadDirections {
  const weights = weightsOf(tensors, layer, `${of}_proj`);
  const rowOf = (head: number, dimension: number) => (head * headDim + dimension) * width;
  return {
    clear: (head) => weights.fill(0, rowOf(head, 0), rowOf(head + 1, 0)),
    set: (head, dimension, direction, scale) => {
      const at = rowOf(head, dimension);
      for (let i = 0; i < width; i++) weights[at + i] = direction[i] * scale;
    },
  };
}

/** The directions that the heads of a layer write to the residual stream. */
export function headOutputs(
  tensors: Tensors,
  layer: number,
  { width, headDim, heads }: DecoderShape,
): Pick<HeadDirections, 'set'> {
  const weights = weightsOf(tensors, layer, 'o_proj');
  return {
    set: (head, dimension, direction, scale) => {
      const column = head * headDim + dimension;
      for (let i = 0; i < width; i++) weights[i * heads * headDim + column] = direction[i] * scale;
    },
  };
}

/** Scales a dimension of all queries and keys of a layer after their normalization. */
export function scaleNormed(tensors: Tensors, layer: number, dimension: number, scale: number): void {
  for (const norm of ['q_norm', 'k_norm']) weightsOf(tensors, layer, norm)[dimension] = scale;
}

function weightsOf(tensors: Tensors, layer: number, of: string): Float32Array {
  return tensors.get(`model.language_model.layers.${layer}.self_attn.${of}.weight`)!.data;
}
