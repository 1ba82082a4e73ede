import { operandsOf, type Graph, type Node, type Value } from './graph';

/** The nodes on which the given values depend, in the order of the graph. */
export function nodesBehind(graph: Graph, values: Iterable<Value>): Node[] {
  const required = new Set(values);
  const live: Node[] = [];
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => required.has(output))) continue;
    live.push(node);
    for (const operand of operandsOf(node)) if (operand !== null) required.add(operand);
  }
  return live.toReversed();
}

/** The nodes on which the graph's outputs depend; others need not run. */
export function liveNodes(graph: Graph): Node[] {
  return nodesBehind(
    graph,
    graph.outputs.map(({ value }) => value),
  );
}
