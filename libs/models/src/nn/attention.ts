import { ops, type Dim, type Graph, type Value } from '@ui-rl/graph';
import { BLOCK_QUERIES, blockAttention, type BlockAttentionOptions, type BlockKind } from './block-attention';
import type { LayerBuilder } from './layer-builder';

const excluded = -1e9;

/** Heads of an attention layer: `heads` query heads share `kvHeads` key/value heads in groups. */
export interface HeadCounts {
  heads: number;
  kvHeads: number;
  headDim: number;
}

/**
 * Additive causal mask, [1, 1, G·T, T] for G query heads per key head and T = `length` tokens. Right-padded rows need
 * no other mask, because padding comes after all tokens that are used.
 */
export function causalBias(graph: Graph, groups: number, length: Dim = 'T'): Value {
  return graph.scope('causal_bias', () => {
    const order = ops.range(graph, length);
    const later = ops.greater(ops.unsqueeze(order, [0]), ops.unsqueeze(order, [1]));
    const bias = ops.where(later, ops.scalar(graph, excluded, 'float32'), ops.scalar(graph, 0, 'float32'));
    const tiled = groups === 1 ? bias : ops.concat(Array<Value>(groups).fill(bias), 0);
    return ops.unsqueeze(tiled, [0, 1]);
  });
}

/**
 * Grouped-query attention; the query heads of a group become rows of one matrix product, so keys and values are not
 * repeated. q [B, T, heads · d], k and v [B, S, kvHeads · d], bias broadcastable to the scores [B, kvHeads, G·T, S],
 * such as
 * that of {@link causalBias} → [B, T, heads · d].
 * @param bias a kind of blocks: causal attention in blocks of queries
 */
export function groupedAttention(
  q: Value,
  k: Value,
  v: Value,
  bias: Value | BlockKind,
  counts: HeadCounts,
): Value {
  const { heads, kvHeads, headDim } = counts;
  const groups = heads / kvHeads;
  const [B, T] = q.shape;
  const byHead = (x: Value): Value =>
    ops.transpose(ops.reshape(x, [B, x.shape[1], kvHeads, headDim]), [0, 2, 1, 3]);
  const grouped = ops.transpose(ops.reshape(q, [B, T, kvHeads, groups, headDim]), [0, 2, 3, 1, 4]);
  const back = (split: Value): Value =>
    ops.reshape(ops.transpose(split, [0, 3, 1, 2, 4]), [B, T, heads * headDim]);
  if (typeof bias === 'string') {
    const options = { size: BLOCK_QUERIES[bias], causal: true, scale: headDim ** -0.5 };
    return back(blockAttention(grouped, byHead(k), byHead(v), options));
  }
  const rows = ops.reshape(grouped, [B, kvHeads, -1, headDim]);
  const scores = ops.matmul(rows, byHead(k), { transB: true, alpha: headDim ** -0.5 });
  const context = ops.matmul(ops.softmax(ops.add(scores, bias), 3), byHead(v));
  return back(ops.reshape(context, [B, kvHeads, groups, T, headDim]));
}

/** Cached keys and values, and the mask of the C positions that hold a token. */
export interface PastTokens {
  /** [B, kvHeads, C, d] */
  keys: Value;
  values: Value;
  /** broadcastable to the scores [B, kvHeads, G·T, C]: 0 or a large negative number */
  bias: Value;
}

/**
 * Attention of one new token per row over the cached tokens and itself. The new key and value need not be in the
 * cache, so nothing is copied. q [B, 1, heads · d], k and v [B, 1, kvHeads · d] → [B, 1, heads · d].
 */
export function cachedAttention(q: Value, k: Value, v: Value, past: PastTokens, counts: HeadCounts): Value {
  const { heads, kvHeads, headDim } = counts;
  const [B] = q.shape;
  const capacity = past.keys.shape[2];
  // A product without a scale on its result uses a faster kernel.
  const queries = ops.mul(ops.reshape(q, [B, kvHeads, heads / kvHeads, headDim]), headDim ** -0.5);
  const [key, value] = [k, v].map((x) => ops.reshape(x, [B, kvHeads, 1, headDim]));
  const pastScores = ops.add(ops.matmul(queries, past.keys, { transB: true }), past.bias);
  const ownScore = ops.reduceSum(ops.mul(queries, key), [3], true);
  const scores = ops.concat([pastScores, ownScore], 3);
  const all = ops.softmax(scores, 3);
  const [shares, ownShare] = [ops.slice(all, 3, 0, capacity), ops.slice(all, 3, capacity, all.shape[3])];
  const context = ops.add(ops.matmul(shares, past.values), ops.mul(ownShare, value));
  return ops.reshape(context, [B, 1, heads * headDim]);
}

/**
 * Causal attention of T new tokens per row over the cached tokens and the new ones. q [B, T, heads · d],
 * k and v [B, T, kvHeads · d] → [B, T, heads · d].
 * @param bias that of {@link causalBias}, among the new tokens
 */
export function continuedAttention(
  q: Value,
  k: Value,
  v: Value,
  bias: Value,
  past: PastTokens,
  counts: HeadCounts,
): Value {
  const { heads, kvHeads, headDim } = counts;
  const groups = heads / kvHeads;
  const [B, T] = q.shape;
  const capacity = past.keys.shape[2];
  const byHead = (x: Value): Value => ops.transpose(ops.reshape(x, [B, T, kvHeads, headDim]), [0, 2, 1, 3]);
  const grouped = ops.transpose(ops.reshape(q, [B, T, kvHeads, groups, headDim]), [0, 2, 3, 1, 4]);
  const queries = ops.mul(ops.reshape(grouped, [B, kvHeads, `${groups}*${T}`, headDim]), headDim ** -0.5);
  const pastScores = ops.add(ops.matmul(queries, past.keys, { transB: true }), past.bias);
  const ownScores = ops.add(ops.matmul(queries, byHead(k), { transB: true }), bias);
  const all = ops.softmax(ops.concat([pastScores, ownScores], 3), 3);
  const [shares, ownShares] = [ops.slice(all, 3, 0, capacity), ops.slice(all, 3, capacity, all.shape[3])];
  const context = ops.add(ops.matmul(shares, past.values), ops.matmul(ownShares, byHead(v)));
  const split = ops.reshape(context, [B, kvHeads, groups, T, headDim]);
  return ops.reshape(ops.transpose(split, [0, 3, 1, 2, 4]), [B, T, heads * headDim]);
}

/** Windows of up to this many patches are never computed in blocks. */
const SHORT = 512;

export interface AttendAllOptions {
  heads: number;
  /** factor of the scores */
  scale: number;
  /** added to the scores, [N, 1, 1, P] */
  bias?: Value | undefined;
}

/** Full attention among patches, as in vision towers: q, k and v [N, P, heads · d] → [N, P, heads · d]. */
export function attendAll(
  { attention, fused }: Pick<LayerBuilder, 'attention' | 'fused'>,
  [q, k, v]: readonly [Value, Value, Value],
  { heads, scale, bias }: AttendAllOptions,
): Value {
  if (fused && bias === undefined) return ops.fullAttention(q, k, v, heads, scale);
  const [N, P, width] = q.shape;
  const d = Number(width) / heads;
  const byHead = (x: Value): Value => ops.transpose(ops.reshape(x, [N, P, heads, d]), [0, 2, 1, 3]);
  const split = [byHead(q), byHead(k), byHead(v)] as const;
  const isLong = attention !== 'whole' && !(typeof P === 'number' && P <= SHORT);
  const context = isLong
    ? inBlocks(split, { size: BLOCK_QUERIES[attention], causal: false, scale, ...(bias && { bias }) })
    : atOnce(split, scale, bias);
  return ops.reshape(ops.transpose(context, [0, 2, 1, 3]), [N, P, width]);
}

type ByHead = readonly [Value, Value, Value];

/** [N, h, P, d] → [N, h, P, d] */
function inBlocks([q, k, v]: ByHead, options: BlockAttentionOptions): Value {
  return ops.reshape(blockAttention(ops.unsqueeze(q, [2]), k, v, options), q.shape);
}

/** [N, h, P, d] → [N, h, P, d] */
function atOnce([q, k, v]: ByHead, scale: number, bias: Value | undefined): Value {
  const scores = ops.matmul(q, k, { transB: true, alpha: scale });
  return ops.matmul(ops.softmax(bias === undefined ? scores : ops.add(scores, bias), 3), v);
}
