import { float } from '../attributes';
import { shapeText, type Dim } from '../dims';
import { GraphError } from '../errors';
import type { Value } from '../graph';
import { single } from './build';
import { range, reshape } from './shape';
import { productOf } from '../dims';

/**
 * Rotary position embedding, the half-split form (Llama, Qwen): per head, x·cos + rotateHalf(x)·sin. x [B, T,
 * heads·D], cos and sin [B, T, R/2] or [T, R/2] (each angle once): the first R ≤ D numbers of each head are rotated,
 * the others are unchanged. cos and sin get no gradient.
 */
export function rotary(x: Value, cos: Value, sin: Value, heads: number): Value {
  const [batch, length, width] = x.shape;
  const half = cos.shape[cos.rank - 1];
  const perToken = cos.rank === 3;
  const rows: Dim[] = perToken ? [batch, length] : [length];
  const fits =
    x.rank === 3 &&
    typeof half === 'number' &&
    typeof width === 'number' &&
    width % heads === 0 &&
    width >= heads * half * 2 &&
    [cos, sin].every(
      (table) => table.shape.slice(0, -1).join() === rows.join() && table.shape.at(-1) === half,
    );
  if (!fits) {
    throw new GraphError(
      'build',
      `rotary: x ${shapeText(x.shape)} with ${heads} heads does not fit cos ${shapeText(cos.shape)} and sin ` +
        `${shapeText(sin.shape)}; expected [B, T, heads*D] and [B, T, R/2] or [T, R/2], R at most D`,
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
    width === heads * half * 2 ? { num_heads: heads } : { num_heads: heads, rotary_embedding_dim: half * 2 },
    'com.microsoft',
  );
}

/**
 * softmax(scale · q·kᵀ)·v per head, without a mask: q, k and v [B, T, heads·d] → [B, T, heads·d]. The scores are
 * computed in tiles that fit into the cache (arXiv:2205.14135). It has no derivative.
 */
export function fullAttention(q: Value, k: Value, v: Value, heads: number, scale: number): Value {
  const fits = q.rank === 3 && [k, v].every(({ shape }) => shape.join() === q.shape.join());
  if (!fits) {
    throw new GraphError(
      'build',
      `fullAttention: q ${shapeText(q.shape)}, k ${shapeText(k.shape)} and v ${shapeText(v.shape)}; expected the ` +
        'same shape [B, T, heads*d] of all',
    );
  }
  const attributes = { num_heads: heads, scale: float(scale) };
  return single('MultiHeadAttention', [q, k, v], q.dtype, q.shape, attributes, 'com.microsoft');
}

/** Table row of each token: one row per token of the batch, or one per position in the sequence. */
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
