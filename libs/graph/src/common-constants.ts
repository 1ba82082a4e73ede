import type { ConstantData } from './constant';
import { operandsOf, type Graph, type Value } from './graph';
import { liveNodes } from './live';
import type { Tensor } from './tensor';

/** The source of constants that sessions share. */
export interface ConstantSource {
  get(constant: ConstantData): Promise<Tensor>;
}

/** Kernels that read these operands when a session is created. */
const PREPARED = new Set(['DequantizeLinear', 'MatMulNBits']);
/** Types of tensors in device memory. */
const TYPES = new Set(['float32', 'float16']);

/** Constants of a graph that are stored in files and can be fed as inputs instead. */
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
