import type { Graph, Node, Value } from './graph';

/** Builds the replacement of a node in the graph of `inputs`; returns its outputs, or undefined to keep the node. */
export type Lowering = (node: Node, inputs: readonly (Value | null)[], graph: Graph) => Value[] | undefined;

export type Lowerings = Readonly<Record<string, Lowering>>;

/** Maps values of one graph to those of another. */
export type ValueMap = Map<Value, Value>;

/**
 * Adds a node of another graph to `target`, in the same scope, and records its outputs in `mapped`, which must
 * already contain all of its operands.
 * @param lowerings operations to replace
 */
export function cloneNode(node: Node, target: Graph, mapped: ValueMap, lowerings: Lowerings = {}): void {
  const inputs = node.inputs.map((input) => (input === null ? null : (mapped.get(input) ?? null)));
  const outputs = inScopeOf(node, target, () => rebuild(node, inputs, target, mapped, lowerings));
  node.outputs.forEach((output, i) => {
    if (outputs[i] === undefined) return;
    mapped.set(output, outputs[i]);
    outputs[i].detached = output.detached;
  });
}

function rebuild(
  node: Node,
  inputs: (Value | null)[],
  target: Graph,
  mapped: ValueMap,
  lowerings: Lowerings,
): readonly Value[] {
  const lowering = Object.hasOwn(lowerings, node.opType) ? lowerings[node.opType] : undefined;
  const lowered = lowering?.(node, inputs, target);
  if (lowered !== undefined) return lowered;
  const specs = node.outputs.map(({ dtype, shape }) => ({ dtype, shape }));
  const body = node.body === undefined ? undefined : cloneBody(node.body, target, mapped, lowerings);
  const { derivative } = node;
  return target.node(node.opType, inputs, node.attributes, specs, node.domain, {
    body,
    derivative,
  });
}

function cloneBody(body: Graph, outer: Graph, around: ValueMap, lowerings: Lowerings): Graph {
  const target = outer.body(body.name);
  const mapped = new Map(around);
  cloneInto(body, target, mapped, lowerings);
  return target;
}

/** Copies inputs, constants, nodes and outputs of a graph. */
export function cloneInto(source: Graph, target: Graph, mapped: ValueMap, lowerings: Lowerings = {}): void {
  for (const input of source.inputs) mapped.set(input, target.input(input.name, input.dtype, input.shape));
  for (const value of source.constants) {
    if (value.constant !== undefined) mapped.set(value, target.parameter(value.name, value.constant));
  }
  for (const node of source.nodes) cloneNode(node, target, mapped, lowerings);
  for (const { name, value } of source.outputs) target.output(name, mapped.get(value)!);
}

function inScopeOf<T>(node: Node, target: Graph, build: () => T): T {
  const path = node.name.slice(1, node.name.lastIndexOf('/'));
  return path === '' ? build() : target.scope(path, build);
}
