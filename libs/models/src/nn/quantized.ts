import { ops, type Graph, type Value } from '@ui-rl/graph';
import { QUANTIZATION_BLOCK } from '../weights/quantize';
import type { QuantizedWeight } from '../weights/quantized-weights';

/** A quantized weight as float32 [N, K], converted each time the graph runs. */
export function dequantized(graph: Graph, name: string, weight: QuantizedWeight): Value {
  const { kind, codes, scales, zeroPoints } = weight;
  const shape = [...weight.shape];
  const perBlock = [shape[0], shape[1] / QUANTIZATION_BLOCK];
  const dtype = kind === 'int4' ? 'uint4' : 'int8';
  const constant = graph.parameter(`${name}.codes`, { dtype, shape, external: codes });
  const factors = graph.parameter(`${name}.scales`, { dtype: 'float32', shape: perBlock, external: scales });
  const zeros =
    zeroPoints && graph.parameter(`${name}.zero_points`, { dtype, shape: perBlock, external: zeroPoints });
  return ops.dequantize(constant, factors, zeros, QUANTIZATION_BLOCK);
}

/** x · Wᵀ for a 4-bit weight that is multiplied as it is: x [..., K] → [..., N]. */
export function packedProduct(graph: Graph, x: Value, name: string, weight: QuantizedWeight): Value {
  const [N, K] = weight.shape;
  const blocks = K / QUANTIZATION_BLOCK;
  const codes = graph.parameter(`${name}.codes`, {
    dtype: 'uint8',
    shape: [N, blocks, QUANTIZATION_BLOCK / 2],
    external: weight.codes,
  });
  const scales = graph.parameter(`${name}.scales`, {
    dtype: 'float32',
    shape: [N * blocks],
    external: weight.scales,
  });
  return ops.reshape(ops.matmul4Bits(ops.flattenRows(x), codes, scales), [...x.shape.slice(0, -1), N]);
}
