import { add, cast, exp, greater, less, log, mul, reciprocal, sqrt, sub } from '../ops/elementwise';
import { gemm, matmul } from '../ops/matrix';
import { reduceMax, reduceMean, reduceSum } from '../ops/reduce';
import { transpose } from '../ops/shape';
import { FloatAttribute, type Attributes } from '../attributes';
import type { Node, Value } from '../graph';
import type { Lowerings } from '../clone';

/**
 * Replaces operations that the WebGPU provider of ONNX Runtime 1.30 lacks, or computes incorrectly, with supported
 * ones.
 */
export const webgpuLowerings: Lowerings = {
  FusedMatMul: (node, inputs) => [fusedMatMul(node.attributes, inputs[0]!, inputs[1]!)],
  LogSoftmax: (node, inputs) => [logSoftmax(inputs[0]!, node.attributes['axis'] as number)],
  Sign: (_, inputs) => {
    const x = inputs[0]!;
    return [sub(cast(greater(x, 0), x.dtype), cast(less(x, 0), x.dtype))];
  },
  // Its second output, the inverse deviation, is wrong there: it contains the mean.
  SimplifiedLayerNormalization: (node, inputs, graph) => {
    const specs = node.outputs.slice(0, 1).map(({ dtype, shape }) => ({ dtype, shape }));
    const [y] = graph.node(node.opType, inputs, node.attributes, specs, node.domain);
    return [y, inverseDeviation(node, inputs[0]!)];
  },
};

function floatOf(attributes: Attributes, name: string, fallback: number): number {
  const value = attributes[name];
  return value instanceof FloatAttribute ? value.value : fallback;
}

function fusedMatMul(attributes: Attributes, a: Value, b: Value): Value {
  const [transA, transB] = [attributes['transA'] === 1, attributes['transB'] === 1];
  const alpha = floatOf(attributes, 'alpha', 1);
  if (a.rank === 2 && b.rank === 2) return gemm(a, b, null, { transA, transB, alpha });
  const scaled = alpha === 1 ? a : mul(a, alpha);
  return matmul(transA ? swapped(scaled) : scaled, transB ? swapped(b) : b);
}

function swapped(x: Value): Value {
  const axes = x.shape.map((_, i) => i);
  return transpose(x, [...axes.slice(0, -2), x.rank - 1, x.rank - 2]);
}

function logSoftmax(x: Value, axis: number): Value {
  const shifted = sub(x, reduceMax(x, [axis], true));
  return sub(shifted, log(reduceSum(exp(shifted), [axis], true)));
}

function inverseDeviation(node: Node, x: Value): Value {
  const meanSquare = reduceMean(mul(x, x), [-1], true);
  return reciprocal(sqrt(add(meanSquare, floatOf(node.attributes, 'epsilon', 1e-5))));
}
