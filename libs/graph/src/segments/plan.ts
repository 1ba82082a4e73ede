import { isFloat } from '../dtype';
import { GraphError } from '../errors';
import { operandsOf, type Graph, type Node, type Value } from '../graph';
import { nodesBehind } from '../live';

/** A part of a graph between two cuts, in terms of the whole graph's values. */
export interface Segment {
  readonly index: number;
  readonly nodes: readonly Node[];
  /** values of earlier segments that this one needs */
  readonly reads: readonly Value[];
  /** values of this segment that later ones need */
  readonly writes: readonly Value[];
  /** results of the whole graph that are computed here */
  readonly results: readonly Value[];
}

/** A graph in parts that run in sequence. */
export interface SegmentPlan {
  readonly graph: Graph;
  readonly segments: readonly Segment[];
  /**
   * values that depend on neither weights nor floating-point inputs (masks, ranges, shapes): recomputed where needed
   */
  readonly light: ReadonlySet<Value>;
}

/**
 * Splits a graph at the points marked with `Graph.cut`. Every node belongs to the part in which it was built; light
 * values belong to none. Drops nodes on which `results` do not depend.
 * @throws GraphError if a cut is not the result of a node.
 */
export function planSegments(graph: Graph, results: readonly Value[]): SegmentPlan {
  const nodes = nodesBehind(graph, results);
  const light = lightValues(nodes);
  const ends = cutPlaces(graph);
  const segmentOf = new Map<Value, number>();
  const parts: Node[][] = Array.from({ length: ends.length + 1 }, () => []);
  const order = new Map(graph.nodes.map((node, i) => [node, i]));
  for (const node of nodes) {
    if (node.outputs.every((output) => light.has(output))) continue;
    const place = order.get(node)!;
    const part = ends.filter((end) => end < place).length;
    parts[part].push(node);
    for (const output of node.outputs) segmentOf.set(output, part);
  }
  const filled = parts.filter((part) => part.length > 0);
  return { graph, light, segments: filled.map((part, index) => describe(part, index, filled, results)) };
}

/** Values that are computed only from integers, booleans and literals. */
function lightValues(nodes: readonly Node[]): ReadonlySet<Value> {
  const light = new Set<Value>();
  const isLight = (value: Value): boolean =>
    value.constant === undefined
      ? light.has(value) || (value.producer === undefined && !isFloat(value.dtype))
      : 'literal' in value.constant;
  for (const node of nodes) {
    const operands = operandsOf(node);
    if (operands.every((operand) => operand === null || isLight(operand))) {
      for (const output of node.outputs) light.add(output);
    }
  }
  return light;
}

/** Indices of the nodes after which a new part begins, ascending. */
function cutPlaces(graph: Graph): number[] {
  return graph.cuts
    .map((value) => {
      const place = value.producer === undefined ? -1 : graph.nodes.indexOf(value.producer);
      if (place >= 0) return place;
      throw new GraphError(
        'build',
        `graph "${graph.name}" is cut at "${value.name}", which no operation computes; cut at results of nodes`,
      );
    })
    .toSorted((a, b) => a - b);
}

function describe(
  nodes: readonly Node[],
  index: number,
  parts: readonly (readonly Node[])[],
  results: readonly Value[],
): Segment {
  const made = new Set(nodes.flatMap((node) => node.outputs));
  const madeBefore = new Set(parts.slice(0, index).flatMap((part) => part.flatMap((node) => node.outputs)));
  const readLater = new Set(
    parts.slice(index + 1).flatMap((part) => part.flatMap((node) => operandsOf(node))),
  );
  const read = new Set(nodes.flatMap((node) => operandsOf(node)));
  return {
    index,
    nodes,
    reads: [...madeBefore].filter((value) => read.has(value)),
    writes: [...made].filter((value) => readLater.has(value)),
    results: results.filter((value) => made.has(value)),
  };
}
