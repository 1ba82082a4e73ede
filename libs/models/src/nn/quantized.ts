import { ops, type Graph, type Value } from '@ui-rl/graph';
import { QUANTIZATION_BLOCK } from '../weights/quantize';
import { matrixName, type QuantizedWeight } from '../weights/quantized-weights';
import type { MatrixStack, PackedStack } from './parameter-source';

/** The stored form of a quantized weight. */
interface Codes {
  codes: Value;
  /** [N, K / block] */
  scales: Value;
  zeroPoints: Value | undefined;
}

function codesOf(graph: Graph, name: string, weight: QuantizedWeight): Codes {
  const { kind, codes, scales, zeroPoints } = weight;
  const shape = [...weight.shape];
  const perBlock = [shape[0], shape[1] / QUANTIZATION_BLOCK];
  const dtype = kind === 'int4' ? 'uint4' : 'int8';
  return {
    codes: graph.parameter(`${name}.codes`, { dtype, shape, external: codes }),
    scales: graph.parameter(`${name}.scales`, { dtype: 'float32', shape: perBlock, external: scales }),
    zeroPoints:
      zeroPoints && graph.parameter(`${name}.zero_points`, { dtype, shape: perBlock, external: zeroPoints }),
  };
}

/** A quantized weight as float32 [N, K], converted on each run of the graph. */
export function dequantized(graph: Graph, name: string, weight: QuantizedWeight): Value {
  const { codes, scales, zeroPoints } = codesOf(graph, name, weight);
  return ops.dequantize(codes, scales, zeroPoints, QUANTIZATION_BLOCK);
}

/** Codes in the layout of the quantized product. */
function packedOf(graph: Graph, name: string, weight: QuantizedWeight): { codes: Value; scales: Value } {
  const [N, K] = weight.shape;
  const blocks = K / QUANTIZATION_BLOCK;
  return {
    codes: graph.parameter(`${name}.packed`, {
      dtype: 'uint8',
      shape: [N, blocks, QUANTIZATION_BLOCK / 2],
      external: weight.codes,
    }),
    scales: graph.parameter(`${name}.packed_scales`, {
      dtype: 'float32',
      shape: [N * blocks],
      external: weight.scales,
    }),
  };
}

/** x · Wᵀ for a 4-bit weight without conversion: x [..., K] → [..., N]. */
export function packedProduct(graph: Graph, x: Value, name: string, weight: QuantizedWeight): Value {
  const { codes, scales } = packedOf(graph, name, weight);
  const [N] = weight.shape;
  return ops.reshape(ops.matmul4Bits(ops.flattenRows(x), codes, scales), [...x.shape.slice(0, -1), N]);
}

/** The matrices of a stack, [N, K] each, converted on demand. */
export function dequantizedStack(
  graph: Graph,
  name: string,
  weights: readonly QuantizedWeight[],
): MatrixStack {
  const matrices = weights.map((weight, i) => codesOf(graph, matrixName(name, i), weight));
  const matrix = (where: Graph, index: number): Value => {
    const { codes, scales, zeroPoints } = matrices[index];
    return ops.dequantize(codes, scales, zeroPoints, QUANTIZATION_BLOCK, where);
  };
  return { transposed: false, isConverted: true, matrix };
}

/** The matrices of a 4-bit stack, multiplied without conversion. */
export function packedStack(graph: Graph, name: string, weights: readonly QuantizedWeight[]): PackedStack {
  const matrices = weights.map((weight, i) => packedOf(graph, matrixName(name, i), weight));
  const product = (x: Value, index: number): Value => {
    const { codes, scales } = matrices[index];
    return ops.matmul4Bits(x, codes, scales);
  };
  return { product };
}
