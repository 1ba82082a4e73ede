import { shapeText, type Dim } from '../dims';
import { GraphError } from '../errors';
import { float } from '../attributes';
import type { Value } from '../graph';
import { single } from './build';
import { range, reshape } from './shape';
import { productOf } from '../dims';

/**
 * Rotary position embedding, the half-split form (Llama, Qwen): per head, x·cos + rotateHalf(x)·sin.
 * x [B, T, heads·D], cos and sin [B, T, D/2] or [T, D/2] (each angle once). No gradient flows to cos and sin.
 */
export function rotary(x: Value, cos: Value, sin: Value, heads: number): Value {
  const [batch, length, width] = x.shape;
  const half = cos.shape[cos.rank - 1];
  const perToken = cos.rank === 3;
  const rows: Dim[] = perToken ? [batch, length] : [length];
  const fits =
    x.rank === 3 &&
    typeof half === 'number' &&
    width === heads * half * 2 &&
    [cos, sin].every(
      (table) => table.shape.slice(0, -1).join() === rows.join() && table.shape.at(-1) === half,
    );
  if (!fits) {
    throw new GraphError(
      'build',
      `rotary: x ${shapeText(x.shape)} with ${heads} heads does not fit cos ${shapeText(cos.shape)} and sin ` +
        `${shapeText(sin.shape)}; expected [B, T, heads*D] and [B, T, D/2] or [T, D/2]`,
    );
  }
  const count = productOf(rows);
  const tables = [cos, sin].map((table) => reshape(table, [count, half]));
  const positions = rotaryPositions(x, rows, count);
  return single(
    'RotaryEmbedding',
    [x, positions, ...tables],
    x.dtype,
    x.shape,
    { num_heads: heads },
    'com.microsoft',
  );
}

/** Row of the table for each token: one row per token of the batch, or one per place in the sequence. */
function rotaryPositions(x: Value, rows: readonly Dim[], count: Dim): Value {
  const key = `rotary:${shapeText(x.shape.slice(0, 2))}:${rows.length}`;
  const known = x.graph.memo.get(key);
  if (known !== undefined) return known;
  const positions =
    rows.length === 2
      ? reshape(range(x.graph, count), rows)
      : single('Expand', [range(x.graph, count), shapeTensorOf(x)], 'int64', x.shape.slice(0, 2));
  x.graph.memo.set(key, positions);
  return positions;
}

function shapeTensorOf(x: Value): Value {
  return single('Shape', [x], 'int64', [2], { start: 0, end: 2 });
}

/** What `groupQueryAttention` takes; H query heads, K key/value heads, D head width, S cache capacity. */
export interface GroupQueryAttentionInputs {
  /** [B, T, H·D] */
  readonly query: Value;
  /** [B, T, K·D] */
  readonly key: Value;
  /** [B, T, K·D] */
  readonly value: Value;
  /** [B, K, S, D]; feed the same tensor as the result's buffer to work in place */
  readonly pastKey: Value;
  readonly pastValue: Value;
  /** int32 [B]: length of each row including the new tokens, minus 1 */
  readonly lengthsMinusOne: Value;
  /** int32 scalar: the longest total length in the batch */
  readonly totalLength: Value;
}

/** Settings of `groupQueryAttention`. */
export interface GroupQueryAttentionOptions {
  readonly heads: number;
  readonly keyValueHeads: number;
  /** factor before the softmax; default 1/√D */
  readonly scale?: number;
}

/**
 * Causal attention over a key/value cache with shared key/value heads (com.microsoft.GroupQueryAttention); the cache
 * keeps its capacity. Forward only: it has no gradient.
 */
export function groupQueryAttention(
  inputs: GroupQueryAttentionInputs,
  options: GroupQueryAttentionOptions,
): { output: Value; presentKey: Value; presentValue: Value } {
  const { query, key, value, pastKey, pastValue, lengthsMinusOne, totalLength } = inputs;
  const attributes = {
    num_heads: options.heads,
    kv_num_heads: options.keyValueHeads,
    ...(options.scale === undefined ? {} : { scale: float(options.scale) }),
  };
  const operands = [query, key, value, pastKey, pastValue, lengthsMinusOne, totalLength];
  const [output, presentKey, presentValue] = query.graph.node(
    'GroupQueryAttention',
    operands,
    attributes,
    [query, pastKey, pastValue].map((x) => ({ dtype: x.dtype, shape: x.shape })),
    'com.microsoft',
  );
  return { output, presentKey, presentValue };
}
