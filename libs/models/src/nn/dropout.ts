import { ops, type Dim, type Graph, type Value } from '@ui-rl/graph';
import { seedFor, uniformGenerator } from '@ui-rl/random';

/** Input of a graph with dropout: int64 [], below {@link DROPOUT_SEEDS}. Equal seeds drop the same elements. */
export const DROPOUT_SEED = 'dropout_seed';

/** Number of seeds: a prime, so that repeated squaring modulo it does not collapse to a few values. */
export const DROPOUT_SEEDS = 2 ** 31 - 1;

/** Summands of the squaring rounds that decorrelate neighbouring rows. */
const summands = [0x2545f491, 0x1b873593, 0x27d4eb2f];

function shared(graph: Graph, key: string, build: () => Value): Value {
  let value = graph.memo.get(key);
  if (value === undefined) {
    value = graph.scope('dropout', build);
    graph.memo.set(key, value);
  }
  return value;
}

/** An odd pseudo-random number per row, int32 [rows, 1]. */
function rowNumbers(graph: Graph, rows: Dim): Value {
  const seed = shared(graph, 'dropout seed', () => graph.input(DROPOUT_SEED, 'int64', []));
  return shared(graph, `dropout rows ${rows}`, () => {
    const counters = ops.add(ops.mul(ops.range(graph, rows), 48_271), seed);
    const mixed = summands.reduce(
      (x, summand) => ops.mod(ops.add(ops.mul(x, x), summand), DROPOUT_SEEDS),
      ops.mod(counters, DROPOUT_SEEDS),
    );
    return ops.unsqueeze(ops.cast(ops.sub(ops.mul(mixed, 2), DROPOUT_SEEDS), 'int32'), [1]);
  });
}

/** An odd pseudo-random number per column of a layer's input, int32 [1, columns]. */
function columnNumbers(graph: Graph, layer: string, columns: number): Value {
  const uniform = uniformGenerator(seedFor(layer, 0));
  const numbers = Int32Array.from({ length: columns }, () => Math.floor(uniform() * 2 ** 32) | 1);
  return graph.constant('int32', [1, columns], numbers);
}

/**
 * Sets a share `rate` of the elements to 0, different ones for every layer and seed, without rescaling. An element is
 * kept if the product of two random odd numbers, one of its row and one of its column, is large enough (modulo 2³²,
 * multiplicative hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4). Recomputing the pass drops
 * the same elements.
 */
export function dropOut(x: Value, layer: string, rate: number): Value {
  const { graph } = x;
  const flat = ops.flattenRows(x);
  const [rows, columns] = flat.shape;
  return graph.scope('dropout', () => {
    const mixed = ops.mul(rowNumbers(graph, rows), columnNumbers(graph, layer, columns as number));
    const least = ops.scalar(graph, Math.floor(rate * 2 ** 32) - 2 ** 31, 'int32');
    return ops.reshape(ops.where(ops.greaterOrEqual(mixed, least), flat, 0), x.shape);
  });
}
