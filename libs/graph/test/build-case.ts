import { gradients, ops, tensor, type Graph, type Tensor, type Value } from '../src/index';
import type { RuleCase } from './rule-cases';

/**
 * A deterministic pseudo-random number in ±[0.2, 1.5]; neighbours differ by at least 0.02 in magnitude, which avoids
 * kinks.
 */
export function fixedRandom(place: number, positive = false): number {
  const size = 0.2 + (1.3 * ((place * 17) % 61)) / 61;
  return positive || (place * 29) % 7 < 4 ? size : -size;
}

/** A case added to a graph: its feeds, and the operations of its forward part. */
export interface BuiltCase {
  readonly y: Value;
  readonly forwardOps: ReadonlySet<string>;
  /** inputs `<prefix>x0`, `<prefix>x1`, … of the case */
  readonly feeds: Record<string, Tensor>;
}

export interface BuildOptions {
  /** prefix of all names of inputs and outputs */
  readonly prefix?: string;
  /** whether the first dimension of the first input, and every equal one, is known only at run time */
  readonly symbolic?: boolean;
}

/**
 * Adds a case with outputs `y` and `grad0`, `grad1`, …: the gradients of Σ y·weights, where `weights` is an input.
 */
export function buildCase(
  graph: Graph,
  ruleCase: RuleCase,
  { prefix = '', symbolic = false }: BuildOptions = {},
): BuiltCase {
  const feeds: Record<string, Tensor> = {};
  const extent = ruleCase.inputs[0][0];
  const inputs = ruleCase.inputs.map((dims, i) => {
    const data = Float32Array.from({ length: sizeOf(dims) }, (_, j) =>
      fixedRandom(100 * i + j, ruleCase.positive),
    );
    feeds[`${prefix}x${i}`] = tensor('float32', data, dims);
    const declared = dims.map((dim) => (symbolic && dim === extent && dim > 1 ? 'N' : dim));
    return graph.input(`${prefix}x${i}`, 'float32', declared);
  });
  const before = graph.nodes.length;
  const y = graph.scope(`${prefix}forward`, () => ruleCase.build(...inputs));
  const forwardOps = new Set(graph.nodes.slice(before).map((node) => node.opType));
  const weights = graph.input(`${prefix}weights`, 'float32', y.shape);
  graph.output(`${prefix}y`, y);
  const loss = ops.reduceSum(ops.mul(y, weights));
  gradients(loss, inputs).forEach((grad, i) => graph.output(`${prefix}grad${i}`, grad));
  return { y, forwardOps, feeds };
}

/** The fixed weights of a case's result. */
export function weightsOf(shape: readonly number[]): Tensor {
  return tensor(
    'float32',
    Float32Array.from({ length: sizeOf(shape) }, (_, i) => fixedRandom(1000 + i)),
    shape,
  );
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}
