import type { FloatTensor } from '@ui-rl/models';
import { Random } from '@ui-rl/random';
import { principalComponents } from '../whiten';

/** Layers that start with heads that match. */
const LAYERS = 2;
/** Rotary frequencies, of 16, that barely turn over the length of a prompt: matches must not depend on places. */
const SLOW = { first: 9, count: 7 };
/** Components of a head: two dimensions for each frequency. */
const COMPONENTS = 2 * SLOW.count;
/** Components are divided by √(variance + this fraction of the largest), as in `whitenedEmbedding`. */
const RIDGE = 0.3;

export interface DecoderShape {
  width: number;
  headDim: number;
  /** Key/value heads. */
  keyHeads: number;
  /** Query heads. */
  heads: number;
}

/**
 * Makes heads of the first layers of a new decoder attend to what is similar: a query head gets the weights of its key
 * head, which tell characters apart. An image token that shows a character then attends to this character of the goal
 * from the first step, which training would discover late. Compare the induction heads of Olsson et al. 2022
 * (arXiv:2209.11895), which match tokens in this way after training.
 *
 * @param tensors of the model, changed in place
 * @param characters embeddings of characters, row-major [N, width]
 */
export function setMatchingAttention(
  tensors: ReadonlyMap<string, FloatTensor>,
  characters: Float32Array,
  { width, headDim, keyHeads, heads }: DecoderShape,
): void {
  const wanted = keyHeads * COMPONENTS;
  const { vectors, values } = principalComponents(characters, width, wanted, new Random(1));
  for (let layer = 0; layer < LAYERS; layer++) {
    const weights = (of: string) =>
      tensors.get(`model.language_model.layers.${layer}.self_attn.${of}_proj.weight`)!.data;
    const [keys, queries] = [weights('k'), weights('q')];
    for (let head = 0; head < keyHeads; head++) {
      const key = keys.subarray(head * headDim * width, (head + 1) * headDim * width);
      key.fill(0);
      for (let index = 0; index < COMPONENTS; index++) {
        // The first layer's heads take neighboring components, the second's take turns: no two match alike.
        const component = layer === 0 ? head * COMPONENTS + index : index * keyHeads + head;
        const scale = 1 / Math.sqrt(values[component] + RIDGE * values[0]);
        const at = dimensionOf(index, headDim) * width;
        for (let i = 0; i < width; i++) key[at + i] = vectors[component * width + i] * scale;
      }
      queries.set(key, ((head * heads) / keyHeads) * headDim * width);
    }
  }
}

/** Rotary position encoding turns dimension i together with i + headDim / 2. */
function dimensionOf(index: number, headDim: number): number {
  const half = index < SLOW.count ? 0 : headDim / 2;
  return half + SLOW.first + (index % SLOW.count);
}
