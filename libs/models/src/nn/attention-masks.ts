import { ops, type Dim, type Graph, type Value } from '@ui-rl/graph';

const excluded = -1e9;

/** The additive bias of a condition [B, T, S] for G query heads per key head: [B, 1, G·T, S]. */
function biasWhere(condition: Value, groups: number): Value {
  return forGroups(excludedWhere(condition), groups);
}

/** A large negative number where a condition holds, `otherwise` elsewhere. */
function excludedWhere(condition: Value, otherwise: Value | number = 0): Value {
  const [all, none] = [excluded, otherwise].map((each) =>
    typeof each === 'number' ? ops.scalar(condition.graph, each, 'float32') : each,
  );
  return ops.where(condition, all, none);
}

/** [B, T, S] → [B, 1, G·T, S] */
function forGroups(bias: Value, groups: number): Value {
  return ops.unsqueeze(groups === 1 ? bias : ops.concat(Array<Value>(groups).fill(bias), 1), [1]);
}

/**
 * Additive mask among T tokens of packs, [B, 1, G·T, T]: each token attends to the beginning that the sequences of its
 * pack share, and to earlier tokens of its sequence.
 * @param shared int64 [B, 1] number of shared tokens
 * @param starts int64 [B, T] index of the first token of each token's sequence after the shared ones
 */
export function packBias(shared: Value, starts: Value, groups: number, length: Dim): Value {
  const { graph } = shared;
  return graph.scope('pack_bias', () => {
    const order = ops.range(graph, length);
    const keys = ops.unsqueeze(order, [0, 1]);
    const ofOthers = ops.where(
      ops.greaterOrEqual(keys, ops.unsqueeze(shared, [2])),
      excludedWhere(ops.greater(ops.unsqueeze(starts, [2]), keys)),
      ops.scalar(graph, 0, 'float32'),
    );
    return forGroups(excludedWhere(ops.greater(keys, ops.unsqueeze(order, [0, 2])), ofOthers), groups);
  });
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
