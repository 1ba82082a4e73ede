import { sameShape, type Dim } from '../dims';
import type { Graph } from '../graph';
import { reduceSum } from '../ops/reduce';
import { reshape } from '../ops/shape';
import type { Node, Value } from '../value';

/**
 * What a rule sees of one operation: its node, and the gradients of the loss with respect to its outputs (undefined
 * where the loss does not depend on an output).
 */
export interface RuleContext {
  readonly graph: Graph;
  readonly node: Node;
  /** input i */
  readonly input: (i: number) => Value;
  /** output i */
  readonly output: (i: number) => Value;
  /** gradient of output 0, or of output i */
  readonly grad: Value;
  readonly gradOf: (i: number) => Value | undefined;
}

/** How to build the gradient of one input; null where there is none. Called only for inputs that are wanted. */
export type InputGradient = (() => Value) | null;

/** The derivative of an operation: one entry per input. */
export type Rule = (context: RuleContext) => readonly InputGradient[];

export type Rules = Readonly<Record<string, Rule>>;

/** A gradient of a broadcast operand: summed over the axes along which it was repeated. */
export function unbroadcast(grad: Value, shape: readonly Dim[]): Value {
  if (sameShape(grad.shape, shape)) return grad;
  const leading = grad.rank - shape.length;
  const repeated = grad.shape.flatMap((dim, axis) => {
    if (axis < leading) return [axis];
    return shape[axis - leading] === 1 && dim !== 1 ? [axis] : [];
  });
  return reshape(reduceSum(grad, repeated, true), shape);
}

/** The numbers of an integer constant; undefined for a computed value. */
export function constantInts(value: Value): number[] | undefined {
  const { constant } = value;
  if (constant === undefined || !('data' in constant)) return undefined;
  return Array.from(constant.data, Number);
}

/** An integer attribute. */
export function intAttribute(node: Node, name: string, fallback: number): number {
  const value = node.attributes[name];
  return typeof value === 'number' ? value : fallback;
}

/** A value that is built on first use and then shared. */
export function lazy(build: () => Value): () => Value {
  let value: Value | undefined;
  return () => (value ??= build());
}
