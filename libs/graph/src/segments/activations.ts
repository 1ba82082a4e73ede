import { evaluateDim } from '../dims';
import { sizeBytesOf } from '../dtype';
import type { Graph } from '../graph';

/** Bytes of all results of a graph's nodes: the most that a backward pass can need to keep of its forward pass. */
export function activationBytes(graph: Graph, extents: ReadonlyMap<string, number>): number {
  let bytes = 0;
  for (const { outputs, opType } of graph.nodes) {
    if (sharesMemory.has(opType)) continue;
    for (const { dtype, shape } of outputs) {
      bytes += shape.reduce<number>((size, dim) => size * evaluateDim(dim, extents), sizeBytesOf(dtype));
    }
  }
  return bytes;
}

/** Operations whose result is their operand in another shape. */
const sharesMemory: ReadonlySet<string> = new Set(['Reshape', 'Squeeze', 'Unsqueeze', 'Identity']);
