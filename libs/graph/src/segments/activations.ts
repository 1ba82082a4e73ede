import { evaluateDim } from '../dims';
import { sizeBytesOf } from '../dtype';
import { operandsOf, type Graph, type Node, type Value } from '../graph';

/**
 * Total size in bytes of all node results of a graph or a segment: an upper bound on what a backward pass has to keep
 * of its forward pass.
 */
export function activationBytes(
  { nodes }: { readonly nodes: readonly Node[] },
  extents: ReadonlyMap<string, number>,
): number {
  const bytesOf = sizes(nodes, extents);
  const own = nodes.filter(({ opType }) => !sharesMemory.has(opType)).flatMap(({ outputs }) => outputs);
  return own.reduce((sum, value) => sum + bytesOf(value), 0);
}

/**
 * Largest size in bytes of all node results that exist at once, if the nodes run in the order in which they were built
 * and each result is freed after its last use; results of the graph stay. An allocator that rounds sizes needs more.
 */
export function peakBytes({ nodes, outputs }: Graph, extents: ReadonlyMap<string, number>): number {
  const bytesOf = sizes(nodes, extents);
  const lastUse = new Map<Value, number>();
  nodes.forEach((node, at) => {
    for (const value of operandsOf(node)) if (value !== null) lastUse.set(owner(value), at);
  });
  for (const { value } of outputs) lastUse.set(owner(value), nodes.length);
  const freed = nodes.map(() => 0);
  let [held, peak] = [0, 0];
  nodes.forEach((node, at) => {
    if (sharesMemory.has(node.opType)) return;
    for (const value of node.outputs) {
      const bytes = bytesOf(value);
      held += bytes;
      // Memory of a result without a use is free after its node.
      const last = lastUse.get(value) ?? at;
      if (last < nodes.length) freed[last] += bytes;
    }
    peak = Math.max(peak, held);
    held -= freed[at];
  });
  return peak;
}

/** The value whose memory a value shares, or itself. */
function owner(value: Value): Value {
  const { producer } = value;
  return producer !== undefined && sharesMemory.has(producer.opType) ? owner(producer.inputs[0]!) : value;
}

function sizes(nodes: readonly Node[], extents: ReadonlyMap<string, number>): (value: Value) => number {
  const known = withGroups(nodes, extents);
  return ({ dtype, shape }) =>
    shape.reduce<number>((size, dim) => size * evaluateDim(dim, known), sizeBytesOf(dtype));
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
