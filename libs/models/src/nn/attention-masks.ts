import { ops, type Dim, type Graph, type Value } from '@ui-rl/graph';

const excluded = -1e9;

/** The additive bias of a condition [B, T, S] for G query heads per key head: [B, 1, G·T, S]. */
function biasWhere(condition: Value, groups: number): Value {
  const [none, all] = [0, excluded].map((value) => ops.scalar(condition.graph, value, 'float32'));
  const bias = ops.where(condition, all, none);
  return ops.unsqueeze(groups === 1 ? bias : ops.concat(Array<Value>(groups).fill(bias), 1), [1]);
}

/**
 * Additive mask among T tokens, [B, 1, G·T, T]: each token attends to those up to `lastKeys`, int64 [B, T], which is
 * the token itself or, within an image, the image's last token.
 */
export function visibleBias(lastKeys: Value, groups: number, length: Dim): Value {
  return lastKeys.graph.scope('visible_bias', () => {
    const keys = ops.unsqueeze(ops.range(lastKeys.graph, length), [0, 1]);
    return biasWhere(ops.greater(keys, ops.unsqueeze(lastKeys, [2])), groups);
  });
}

/** Additive mask [1, 1, G·T, T] of keys that are `size` or more tokens back. */
export function windowBias(graph: Graph, groups: number, size: number, length: Dim): Value {
  return graph.scope('window_bias', () => {
    const order = ops.range(graph, length);
    const back = ops.sub(ops.unsqueeze(order, [0, 2]), ops.unsqueeze(order, [0, 1]));
    return biasWhere(ops.greaterOrEqual(back, size), groups);
  });
}

/**
 * Additive mask [B, 1, G·T, C] of cached keys that are `size` or more tokens back.
 * @param places int64 [B, T] index of each token in its row
 */
export function pastWindowBias(places: Value, groups: number, size: number): Value {
  return places.graph.scope('past_window_bias', () => {
    const keys = ops.unsqueeze(ops.range(places.graph, 'C'), [0, 1]);
    return biasWhere(ops.greaterOrEqual(ops.sub(ops.unsqueeze(places, [2]), keys), size), groups);
  });
}
