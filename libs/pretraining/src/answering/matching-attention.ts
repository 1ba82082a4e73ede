import type { FloatTensor } from '@ui-rl/models';
import { Random } from '@ui-rl/random';
import { principalComponents } from '../whiten';
import { COMPONENTS, type DecoderShape, dimensionOf, headInputs } from './decoder-matrices';

/** Layers that start with heads that match. */
const LAYERS = 2;
/** Components are divided by √(variance + this fraction of the largest), as in `whitenedEmbedding`. */
const RIDGE = 0.3;

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
  shape: DecoderShape,
): void {
  const { width, headDim, keyHeads, heads } = shape;
  const wanted = keyHeads * COMPONENTS;
  const { vectors, values } = principalComponents(characters, width, wanted, new Random(1));
  for (let layer = 0; layer < LAYERS; layer++) {
    const query = headInputs(tensors, layer, 'q', shape);
    const key = headInputs(tensors, layer, 'k', shape);
    for (let head = 0; head < keyHeads; head++) {
      const queryHead = (head * heads) / keyHeads;
      key.clear(head);
      query.clear(queryHead);
      for (let index = 0; index < COMPONENTS; index++) {
        // The first layer's heads take neighboring components, the second's take turns: no two match alike.
        const component = layer === 0 ? head * COMPONENTS + index : index * keyHeads + head;
        const scale = 1 / Math.sqrt(values[component] + RIDGE * values[0]);
        const direction = vectors.subarray(component * width, (component + 1) * width);
        key.set(head, dimensionOf(index, headDim), direction, scale);
        query.set(queryHead, dimensionOf(index, headDim), direction, scale);
      }
    }
  }
}
