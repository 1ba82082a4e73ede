import { evaluateDim } from '../dims';
import { sizeBytesOf } from '../dtype';
import type { Node } from '../graph';

/**
 * Total size in bytes of all node results of a graph or a segment: an upper bound on what a backward pass has to keep
 * of its forward pass.
 */
export function activationBytes(
  { nodes }: { readonly nodes: readonly Node[] },
  extents: ReadonlyMap<string, number>,
): number {
  const known = withGroups(nodes, extents);
  let bytes = 0;
  for (const { outputs, opType } of nodes) {
    if (sharesMemory.has(opType)) continue;
    for (const { dtype, shape } of outputs) {
      bytes += shape.reduce<number>((size, dim) => size * evaluateDim(dim, known), sizeBytesOf(dtype));
    }
  }
  return bytes;
}

/** Operations whose result shares memory with their operand. */
const sharesMemory: ReadonlySet<string> = new Set(['Reshape', 'Squeeze', 'Unsqueeze', 'Identity']);

/**
 * Extents, extended by those of parts whose sizes the graph computes itself (`RowGroups`): each counts as an equal
 * share of the whole.
 */
export function withGroups(
  nodes: readonly Node[],
  extents: ReadonlyMap<string, number>,
): Map<string, number> {
  const known = new Map(extents);
  for (const { opType, inputs, outputs, attributes } of nodes) {
    if (opType !== 'Split' || inputs[1]?.constant !== undefined) continue;
    const axis = attributes['axis'] as number;
    const share = evaluateDim(inputs[0]!.shape[axis], known) / outputs.length;
    for (const { shape } of outputs) if (typeof shape[axis] === 'string') known.set(shape[axis], share);
  }
  return known;
}
