import type { ConstantData } from './constant';
import { operandsOf, type Graph, type Value } from './graph';
import { liveNodes } from './live';
import type { Tensor } from './tensor';

/** Where sessions get constants from that they share. */
export interface ConstantSource {
  get(constant: ConstantData): Promise<Tensor>;
}

/** Kernels that read these operands while a session is made. */
const PREPARED = new Set(['DequantizeLinear', 'MatMulNBits']);
/** What a tensor in the memory of a device can be. */
const TYPES = new Set(['float32', 'float16']);

/** Constants that a graph needs, lie in files, and can as well be fed. */
export function sharedConstants(graph: Graph): Value[] {
  const found = new Set<Value>();
  const prepared = new Set<Value>();
  for (const node of liveNodes(graph)) {
    for (const operand of operandsOf(node)) {
      if (operand?.constant === undefined) continue;
      if ('external' in operand.constant && TYPES.has(operand.dtype)) found.add(operand);
      if (PREPARED.has(node.opType)) prepared.add(operand);
    }
  }
  return [...found].filter((value) => !prepared.has(value));
}
