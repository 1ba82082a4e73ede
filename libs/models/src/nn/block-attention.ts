import { ops, vectorJacobianProducts, type Graph, type Rule, type Value } from '@ui-rl/graph';

/** Queries per block: enough for fast products, and few enough for their scores to fit into memory. */
export const BLOCK_QUERIES = { blocks: 128, 'large blocks': 512 } as const;

export type BlockKind = keyof typeof BLOCK_QUERIES;

const excluded = -1e9;

export interface BlockAttentionOptions {
  /** queries per block */
  size: number;
  /** whether query t sees only keys 0 … t; there are then as many keys as queries */
  causal: boolean;
  /** added to the scores, [B, 1, 1, S]; not differentiated */
  bias?: Value;
  /** factor of the scores */
  scale: number;
}

/** Dimensions that vary between blocks. */
const ROWS = 'block.rows';
const KEYS = 'block.keys';
const BLOCKS = 'block.count';

/** The operands of one loop iteration. */
interface Block {
  /** [B, K, G, rows, d] */
  queries: Value;
  /** [B, K, keys, d] */
  keys: Value;
  values: Value;
  /** [B, K, G, rows, d] */
  context: Value;
}

/**
 * softmax(scale · q·kᵀ + bias)·v without holding all scores at once: queries are processed in blocks, and the
 * backward pass recomputes each block's scores (arXiv:2112.05682, sections 2 and 3). Memory grows with T instead of
 * T².
 * @param q [B, K, G, T, d]: G query heads for each of K key heads
 * @param k [B, K, S, d]
 * @param v [B, K, S, d]
 * @returns [B, K, G, T, d]
 */
export function blockAttention(q: Value, k: Value, v: Value, options: BlockAttentionOptions): Value {
  const { graph } = q;
  const { size } = options;
  const T = q.shape[3];
  return graph.scope('block_attention', () => {
    const blocks = ops.div(ops.add(ops.dimValue(graph, T), size - 1), size);
    let operandIndices: number[] = [];
    const derivative: Rule = (c) => {
      const { captures } = c.node.body!;
      const [query, key, value, bias] = operandIndices.map((index) => captures[index]);
      const build = backward(c.grad, [query, key, value], { ...options, bias });
      const entries: (null | (() => Value))[] = [...c.node.inputs, ...captures].map(() => null);
      build.forEach((gradient, i) => (entries[c.node.inputs.length + operandIndices[i]] = gradient));
      return entries;
    };
    const { collected } = ops.loop(graph, { count: blocks, turns: BLOCKS, derivative }, (body, index) => {
      const { context } = attend(body, index, [q, k, v], options);
      return { carried: [], collected: [ops.padEnd(context, 3, size)] };
    });
    // A copy of the graph keeps the order of captures, so operands are identified by index.
    const { captures } = collected[0].producer!.body!;
    operandIndices = [q, k, v, options.bias].flatMap((operand) =>
      operand === undefined ? [] : [captures.indexOf(operand)],
    );
    return joinBlocks(collected[0], T, size);
  });
}

/** Attention of one block of queries, inside the loop body. */
function attend(
  body: Graph,
  index: Value,
  [q, k, v]: readonly Value[],
  { size, causal, bias, scale }: BlockAttentionOptions,
): Block {
  const [B, K, G, , d] = q.shape;
  const start = ops.mul(index, size);
  const end = ops.add(start, size);
  const queries = ops.sliceAt(q, 3, start, end, ROWS);
  const seen = (x: Value, axis: number): Value =>
    causal ? ops.sliceAt(x, axis, ops.ints(body, [0]), end, KEYS) : x;
  const [keys, values] = [seen(k, 2), seen(v, 2)];
  const flat = ops.reshape(queries, [B, K, `${G}*${ROWS}`, d]);
  let scores = ops.matmul(flat, keys, { transB: true, alpha: scale });
  if (causal) scores = ops.add(scores, laterKeys(body, start, Number(G)));
  if (bias !== undefined) scores = ops.add(scores, seen(bias, 3));
  const context = ops.reshape(ops.matmul(ops.softmax(scores, 3), values), [B, K, G, ROWS, d]);
  return { queries, keys, values, context };
}

/** [G·rows, keys]: a large negative number where the key comes after the query. */
function laterKeys(body: Graph, start: Value, groups: number): Value {
  const positions = ops.unsqueeze(ops.add(ops.range(body, ROWS), start), [1]);
  const later = ops.greater(ops.unsqueeze(ops.range(body, KEYS), [0]), positions);
  const [none, all] = [0, excluded].map((value) => ops.scalar(body, value, 'float32'));
  return ops.concat(Array<Value>(groups).fill(ops.where(later, all, none)), 0);
}

/** [n, B, K, G, size, d] → [B, K, G, T, d] */
function joinBlocks(blocks: Value, T: Value['shape'][number], size: number): Value {
  const [n, B, K, G, , d] = blocks.shape;
  const inOrder = ops.transpose(blocks, [1, 2, 3, 0, 4, 5]);
  return ops.slice(ops.reshape(inOrder, [B, K, G, `${size}*${n}`, d]), 3, 0, T);
}

/**
 * Gradients of queries, keys and values, each built on demand.
 * @param grad [n, B, K, G, size, d] of the loop's collected output
 */
function backward(grad: Value, operands: readonly Value[], options: BlockAttentionOptions): (() => Value)[] {
  const { graph } = grad;
  const [q, k] = operands;
  const [, , S] = k.shape;
  const run = (): readonly Value[] => {
    const zeros = ops.zerosLike(k);
    const count = ops.dimValue(graph, grad.shape[0]);
    const { carried, collected } = ops.loop(
      graph,
      { count, turns: grad.shape[0], initial: [zeros, zeros] },
      (body, index, sums) => {
        const block = attend(body, index, operands, options);
        const own = ops.reshape(ops.gather(grad, index, 0), grad.shape.slice(1));
        const rows = ops.sliceAt(own, 3, ops.ints(body, [0]), ops.extentOf(block.queries, 3), ROWS);
        const inputs = [block.queries, block.keys, block.values];
        const [dq, ...others] = vectorJacobianProducts([block.context], [rows], inputs);
        const next = others.map((own, i) => ops.add(sums[i], options.causal ? ops.padEnd(own, 2, S) : own));
        return { carried: next, collected: [ops.padEnd(dq, 3, options.size)] };
      },
    );
    return [joinBlocks(collected[0], q.shape[3], options.size), ...carried];
  };
  let built: readonly Value[] | undefined;
  return operands.map((_, i) => () => (built ??= graph.scope('block_attention', run))[i]);
}
