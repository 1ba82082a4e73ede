import { Graph, type Value } from '../graph';
import * as ops from '../ops';
import { STEP_SCALARS, type AdamWOptions } from './adamw';

/** Shapes of weights by name. */
export type WeightShapes = ReadonlyMap<string, readonly number[]>;

/** What a step of AdamW reads and gives for one weight, as names of inputs and, with `next.` before them, outputs. */
export function adamwNames(weight: string): Record<'weight' | 'gradient' | 'first' | 'second', string> {
  return {
    weight: `weight.${weight}`,
    gradient: `gradient.${weight}`,
    first: `first.${weight}`,
    second: `second.${weight}`,
  };
}

/** Inputs `gradient.<name>` → `norm`, the Euclidean norm of all of them together. */
export function gradientNormGraph(weights: WeightShapes): Graph {
  const graph = new Graph('gradient norm');
  const squares = [...weights].map(([name, shape]) => {
    const gradient = graph.input(adamwNames(name).gradient, 'float32', shape);
    return ops.unsqueeze(ops.reduceSum(ops.mul(gradient, gradient)), [0]);
  });
  graph.output('norm', ops.sqrt(ops.reduceSum(ops.concat(squares, 0))));
  return graph;
}

/**
 * One step of AdamW (Loshchilov & Hutter 2019, algorithm 2) over weights that stay in the memory of a device: the formula of
 * `AdamW`. Inputs as {@link adamwNames} says and {@link STEP_SCALARS}; outputs the next weights and moments.
 */
export function adamwGraph(
  weights: WeightShapes,
  { beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8 }: AdamWOptions,
): Graph {
  const graph = new Graph('adamw');
  const [scale, rate, correction, keep] = STEP_SCALARS.map((name) => graph.input(name, 'float32', []));
  for (const [weight, shape] of weights) {
    const names = adamwNames(weight);
    const read = (name: string): Value => graph.input(name, 'float32', shape);
    const gradient = ops.mul(read(names.gradient), scale);
    const first = ops.add(ops.mul(read(names.first), beta1), ops.mul(gradient, 1 - beta1));
    const squares = ops.mul(ops.mul(gradient, gradient), 1 - beta2);
    const second = ops.add(ops.mul(read(names.second), beta2), squares);
    const denominator = ops.add(ops.mul(ops.sqrt(second), correction), epsilon);
    const change = ops.div(ops.mul(first, rate), denominator);
    graph.output(`next.${names.weight}`, ops.sub(ops.mul(read(names.weight), keep), change));
    graph.output(`next.${names.first}`, first);
    graph.output(`next.${names.second}`, second);
  }
  return graph;
}
