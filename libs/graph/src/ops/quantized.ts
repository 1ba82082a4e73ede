import { shapeText } from '../dims';
import { GraphError } from '../errors';
import type { Graph, Value } from '../graph';
import { single } from './build';

/**
 * A quantized matrix as float32: (codes - zeroPoints) · scales, with one scale per block of columns.
 * @param codes [N, K] of `uint4` or `int8`
 * @param scales [N, K / block]
 * @param zeroPoints in the type of the codes and the shape of the scales; default 0
 * @param graph in which to convert it, such as the body of a loop
 */
export function dequantize(
  codes: Value,
  scales: Value,
  zeroPoints: Value | undefined,
  block: number,
  graph: Graph = codes.graph,
): Value {
  const [rows, columns] = codes.shape;
  const fits =
    codes.rank === 2 && scales.shape[0] === rows && Number(scales.shape[1]) * block === Number(columns);
  if (!fits) {
    throw new GraphError(
      'build',
      `dequantize: codes "${codes.name}" ${shapeText(codes.shape)} and scales ${shapeText(scales.shape)} do not fit blocks of ${block}`,
    );
  }
  const inputs = zeroPoints === undefined ? [codes, scales] : [codes, scales, zeroPoints];
  const output = { dtype: 'float32' as const, shape: codes.shape };
  return graph.node('DequantizeLinear', inputs, { axis: 1, block_size: block }, [output])[0];
}

/**
 * x · Wᵀ for a weight of 4-bit codes with zero point 8, without a float32 copy in memory; forward only
 * (com.microsoft.MatMulNBits).
 * @param x [R, K]
 * @param codes `uint8` [N, K / block, block / 2], two codes per byte, the first in the low bits
 * @param scales [N · K / block]
 */
export function matmul4Bits(x: Value, codes: Value, scales: Value): Value {
  const [N, blocks, bytes] = codes.shape.map(Number);
  const block = 2 * bytes;
  const K = blocks * block;
  if (x.rank !== 2 || x.shape[1] !== K || scales.shape[0] !== N * blocks) {
    throw new GraphError(
      'build',
      `matmul4Bits: "${x.name}" ${shapeText(x.shape)}, codes ${shapeText(codes.shape)} and scales ${shapeText(scales.shape)} do not fit`,
    );
  }
  const attributes = { K, N, bits: 4, block_size: block };
  return single('MatMulNBits', [x, codes, scales], 'float32', [x.shape[0], N], attributes, 'com.microsoft');
}
