import { Graph, gradients, ops, Session, tensor, type Tensor, type Value } from '@ui-rl/graph';
import { blockAttention, type BlockAttentionOptions } from './block-attention';

const [B, K, G, d] = [2, 2, 3, 4];

/** softmax(scale · q·kᵀ + bias)·v with all scores at once. */
function plainAttention(q: Value, k: Value, v: Value, { causal, bias, scale }: BlockAttentionOptions): Value {
  const { graph } = q;
  const [keys, values] = [k, v].map((x) => ops.unsqueeze(x, [2]));
  let scores = ops.matmul(q, keys, { transB: true, alpha: scale });
  if (bias !== undefined) scores = ops.add(scores, ops.unsqueeze(bias, [1]));
  if (causal) {
    const positions = ops.range(graph, 'T');
    const later = ops.greater(ops.unsqueeze(positions, [0]), ops.unsqueeze(positions, [1]));
    const [none, all] = [0, -1e9].map((value) => ops.scalar(graph, value, 'float32'));
    scores = ops.add(scores, ops.where(later, all, none));
  }
  return ops.matmul(ops.softmax(scores, 4), values);
}

/** Context and gradients of Σ context · weights. */
async function evaluate(
  attention: typeof blockAttention,
  causal: boolean,
  biased: boolean,
  feeds: Record<string, Tensor>,
): Promise<Record<string, Tensor>> {
  const graph = new Graph('attention');
  const S = causal ? 'T' : 'S';
  const q = graph.input('q', 'float32', ['B', K, G, 'T', d]);
  const [k, v] = ['k', 'v'].map((name) => graph.input(name, 'float32', ['B', K, S, d]));
  const weights = graph.input('weights', 'float32', ['B', K, G, 'T', d]);
  const bias = biased ? graph.input('bias', 'float32', ['B', 1, 1, S]) : undefined;
  // The operands are computed values, as in a model.
  const [query, keys, values] = [q, k, v].map((x) => ops.mul(x, 1.5));
  const context = attention(query, keys, values, { causal, scale: 0.5, bias });
  graph.output('context', context);
  const loss = ops.reduceSum(ops.mul(context, weights));
  gradients(loss, [q, k, v]).forEach((gradient, i) => graph.output(`d${'qkv'[i]}`, gradient));
  const session = await Session.create(graph, { threads: 2, spinning: false });
  const found = await session.run(feeds);
  await session.release();
  return found;
}

function random(shape: number[], seed: number): Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  return tensor(
    'float32',
    Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i * 1.37)),
    shape,
  );
}

describe.each([1, 127, 128, 129, 300])('attention in blocks over %s queries', (T) => {
  test.each([
    [true, false],
    [false, false],
    [false, true],
    [true, true],
  ])('causal %s, biased %s: what all scores at once give', async (causal, biased) => {
    const S = causal ? T : T + 5;
    const feeds: Record<string, Tensor> = {
      q: random([B, K, G, T, d], 1),
      k: random([B, K, S, d], 2),
      v: random([B, K, S, d], 3),
      weights: random([B, K, G, T, d], 4),
    };
    if (biased) {
      const bias = new Float32Array(B * S);
      bias.fill(-1e9, S + Math.ceil(S / 2), 2 * S);
      feeds.bias = tensor('float32', bias, [B, 1, 1, S]);
    }
    const expected = await evaluate(plainAttention, causal, biased, feeds);
    const found = await evaluate(blockAttention, causal, biased, feeds);
    for (const name of ['context', 'dq', 'dk', 'dv']) {
      expect(found[name].dims).toEqual(expected[name].dims);
      const other = expected[name].data as Float32Array;
      const gap = (found[name].data as Float32Array).reduce(
        (most, x, i) => Math.max(most, Math.abs(x - other[i])),
        0,
      );
      expect([name, gap < 2e-5]).toEqual([name, true]);
    }
  });
});
