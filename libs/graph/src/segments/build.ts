import { cloneNode, type ValueMap } from '../clone';
import { isFloat } from '../dtype';
import { gradients, vectorJacobianProducts } from '../gradient/gradients';
import { Graph, operandsOf, type Value } from '../graph';
import { nodesBehind } from '../live';
import { add } from '../ops/elementwise';
import type { Segment, SegmentPlan } from './plan';

/** Name of a value that one segment passes to another. */
export function keptName(value: Value): string {
  return `kept.${value.name}`;
}

/** Name of the derivative of the loss by such a value. */
export function keptGradientName(value: Value): string {
  return `gradient.${value.name}`;
}

/** Name of that derivative as accumulated by later segments. */
export function keptAccumulatedName(value: Value): string {
  return `sum.${value.name}`;
}

/** A segment as a separate graph, with the mapping of the whole graph's values. */
interface BuiltSegment {
  graph: Graph;
  mapped: ValueMap;
}

/** The segment's nodes in a new graph. Values of other segments become inputs `kept.<name>`. */
function buildSegment(plan: SegmentPlan, segment: Segment, kind: string): BuiltSegment {
  const graph = new Graph(`${plan.graph.name} ${kind} ${segment.index}`);
  const mapped: ValueMap = new Map();
  for (const value of segment.reads)
    mapped.set(value, graph.input(keptName(value), value.dtype, value.shape));
  const take = (value: Value | null): void => {
    if (value === null || mapped.has(value)) return;
    const { constant, producer, name, dtype, shape } = value;
    if (constant !== undefined) mapped.set(value, graph.parameter(name, constant));
    else if (producer === undefined) mapped.set(value, graph.input(name, dtype, shape));
    else {
      for (const node of nodesBehind(plan.graph, [value])) {
        if (node.outputs.some((output) => mapped.has(output))) continue;
        operandsOf(node).forEach(take);
        cloneNode(node, graph, mapped);
      }
    }
  };
  for (const node of segment.nodes) {
    operandsOf(node).forEach(take);
    cloneNode(node, graph, mapped);
  }
  return { graph, mapped };
}

/**
 * The forward pass of a segment. Outputs: `kept.<name>` for later segments, and its results under the given names.
 */
export function forwardSegment(
  plan: SegmentPlan,
  segment: Segment,
  resultNames: ReadonlyMap<Value, string>,
): Graph {
  const { graph, mapped } = buildSegment(plan, segment, 'forward');
  for (const value of segment.writes) graph.output(keptName(value), mapped.get(value)!);
  for (const value of segment.results) graph.output(resultNames.get(value)!, mapped.get(value)!);
  return graph;
}

/** Input of a backward pass by segments. */
export interface BackwardOptions {
  /** value of the whole graph with one element */
  loss: Value;
  /** inputs of the whole graph to differentiate by */
  trained: ReadonlySet<Value>;
  /** results that are returned with the loss, under these names */
  resultNames: ReadonlyMap<Value, string>;
}

/** The backward pass of one segment. */
export interface BackwardSegment {
  graph: Graph;
  /** trained inputs that it reads: an input `sum.<name>` and an output `gradient.<name>` each */
  trained: Value[];
  /** kept values whose derivatives it takes as inputs `gradient.<name>` */
  takes: Value[];
  /** kept values whose derivatives it returns as outputs `gradient.<name>`; with `added` also inputs `sum.<name>` */
  gives: { value: Value; added: boolean }[];
}

/**
 * Forward and backward pass of a segment in one graph: activations are recomputed instead of kept (arXiv:1604.06174).
 * The segment of the loss also returns the results. Undefined if nothing in it or before it is trained.
 */
export function backwardSegment(
  plan: SegmentPlan,
  segment: Segment,
  { loss, trained, resultNames }: BackwardOptions,
): BackwardSegment | undefined {
  const moved = dependsOn(plan, trained);
  const used = new Set(segment.nodes.flatMap((node) => operandsOf(node)));
  const weights = [...trained].filter((value) => used.has(value));
  const gives = segment.reads
    .filter((value) => moved.has(value))
    .map((value) => ({ value, added: isReadAfter(plan, segment, value) }));
  const isLast = segment.results.includes(loss);
  if (weights.length === 0 && gives.length === 0 && !isLast) return undefined;
  const { graph, mapped } = buildSegment(plan, segment, 'backward');
  const takes = isLast ? [] : segment.writes.filter((value) => moved.has(value));
  const inner = (value: Value): Value => mapped.get(value)!;
  if (isLast) for (const value of segment.results) graph.output(resultNames.get(value)!, inner(value));
  const by = [...weights, ...gives.map(({ value }) => value)];
  const derivatives = isLast
    ? by.length === 0
      ? []
      : gradients(inner(loss), by.map(inner))
    : vectorJacobianProducts(
        takes.map(inner),
        takes.map((value) => graph.input(keptGradientName(value), value.dtype, value.shape)),
        by.map(inner),
      );
  by.forEach((value, i) => {
    const isAdded = i < weights.length || gives[i - weights.length].added;
    const derivative = derivatives[i];
    const sum = (): Value => graph.input(keptAccumulatedName(value), derivative.dtype, derivative.shape);
    graph.output(keptGradientName(value), isAdded ? add(sum(), derivative) : derivative);
  });
  return { graph, trained: weights, takes, gives };
}

/** Floating-point values that depend on trained inputs. */
function dependsOn({ segments }: SegmentPlan, trained: ReadonlySet<Value>): ReadonlySet<Value> {
  const moved = new Set(trained);
  for (const node of segments.flatMap(({ nodes }) => nodes)) {
    if (!operandsOf(node).some((operand) => operand !== null && moved.has(operand))) continue;
    for (const output of node.outputs) if (isFloat(output.dtype) && !output.detached) moved.add(output);
  }
  return moved;
}

/** Whether a later segment reads the value, too, and has therefore contributed to its derivative. */
function isReadAfter({ segments }: SegmentPlan, { index }: Segment, value: Value): boolean {
  return segments.some((other) => other.index > index && other.reads.includes(value));
}
