import { Graph, gradients, ops, Session, tensor, type Device, type Tensor, type Value } from '@ui-rl/graph';
import { blockAttention, type BlockAttentionOptions } from '../src/nn/block-attention';

export const [B, K, G, d] = [2, 2, 3, 4];

/** softmax(scale · q·kᵀ + bias)·v with all scores at once. */
export function plainAttention(
  q: Value,
  k: Value,
  v: Value,
  { causal, bias, scale }: BlockAttentionOptions,
): Value {
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

export interface EvaluateOptions {
  size: number;
  causal: boolean;
  biased: boolean;
  device?: Device;
}

/** Context and gradients of Σ context · weights. */
export async function evaluate(
  attention: typeof blockAttention,
  { size, causal, biased, device = 'cpu' }: EvaluateOptions,
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
  const context = attention(query, keys, values, { size, causal, scale: 0.5, bias });
  graph.output('context', context);
  const loss = ops.reduceSum(ops.mul(context, weights));
  gradients(loss, [q, k, v]).forEach((gradient, i) => graph.output(`d${'qkv'[i]}`, gradient));
  const session = await Session.create(graph, { device, threads: 2, spinning: false });
  const found = await session.run(feeds);
  await session.release();
  return found;
}

export function random(shape: number[], seed: number): Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  return tensor(
    'float32',
    Float32Array.from({ length: count }, (_, i) => Math.sin(seed + i * 1.37)),
    shape,
  );
}
