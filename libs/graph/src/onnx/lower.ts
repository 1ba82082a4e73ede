import { Graph } from '../graph';
import type { Node, Value } from '../value';

/** Builds, in the graph of `inputs`, what replaces a node; gives its outputs, or undefined where the node may stay. */
export type Lowering = (node: Node, inputs: readonly (Value | null)[], graph: Graph) => Value[] | undefined;

export type Lowerings = Readonly<Record<string, Lowering>>;

/** The same function as another graph, in which operations of the table are replaced. Names of nodes keep their paths. */
export function lower(source: Graph, lowerings: Lowerings): Graph {
  const target = new Graph(source.name);
  const mapped = new Map<Value, Value>();
  for (const input of source.inputs) mapped.set(input, target.input(input.name, input.dtype, input.shape));
  for (const value of source.constants) {
    if (value.constant !== undefined) mapped.set(value, target.parameter(value.name, value.constant));
  }
  for (const node of source.nodes) {
    const inputs = node.inputs.map((input) => (input === null ? null : (mapped.get(input) ?? null)));
    const outputs = inScopeOf(node, target, () => rebuild(node, inputs, target, lowerings));
    node.outputs.forEach((output, i) => {
      if (outputs[i] !== undefined) mapped.set(output, outputs[i]);
    });
  }
  for (const { name, value } of source.outputs) target.output(name, mapped.get(value)!);
  return target;
}

function rebuild(
  node: Node,
  inputs: (Value | null)[],
  target: Graph,
  lowerings: Lowerings,
): readonly Value[] {
  const lowering = Object.hasOwn(lowerings, node.opType) ? lowerings[node.opType] : undefined;
  const specs = node.outputs.map(({ dtype, shape }) => ({ dtype, shape }));
  return (
    lowering?.(node, inputs, target) ?? target.node(node.opType, inputs, node.attributes, specs, node.domain)
  );
}

function inScopeOf<T>(node: Node, target: Graph, build: () => T): T {
  const path = node.name.slice(1, node.name.lastIndexOf('/'));
  return path === '' ? build() : target.scope(path, build);
}
