import { arrayOf, type DType } from '../dtype';
import { broadcast, shapeText, type Dim } from '../dims';
import { GraphError } from '../errors';
import type { Graph, Value } from '../graph';
import type { Attributes } from '../attributes';

/** An operand: a value, or a number that becomes a scalar of the other operand's type. */
export type Operand = Value | number;

/** A constant scalar. */
export function scalar(graph: Graph, value: number, dtype: DType = 'float32'): Value {
  return graph.constant(dtype, [], arrayOf(dtype, [value]));
}

/** A constant int64 vector. */
export function ints(graph: Graph, values: readonly number[]): Value {
  return graph.constant('int64', [values.length], arrayOf('int64', values));
}

/** One node with one result, in the innermost graph among those of its inputs. */
export function single(
  opType: string,
  inputs: readonly (Value | null)[],
  dtype: DType,
  shape: readonly Dim[],
  attributes: Attributes = {},
  domain = '',
): Value {
  const graphs = inputs.flatMap((input) => (input === null ? [] : [input.graph]));
  if (graphs.length === 0) throw new GraphError('build', `${opType} needs at least one input`);
  const graph = graphs.reduce((a, b) => (b.depth > a.depth ? b : a));
  return graph.node(opType, inputs, attributes, [{ dtype, shape }], domain)[0];
}

/** Counts a possibly negative axis from the front; throws if it is out of range. */
export function axisOf(x: Value, axis: number, opName: string, rank = x.rank): number {
  const positive = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || positive < 0 || positive >= rank) {
    throw new GraphError(
      'build',
      `${opName}: "${x.name}" of shape ${shapeText(x.shape)} has no axis ${axis}`,
    );
  }
  return positive;
}

/** Both operands as values of one graph; types must agree. */
export function pair(opName: string, a: Operand, b: Operand): [Value, Value] {
  if (typeof a === 'number' && typeof b === 'number') {
    throw new GraphError('build', `${opName}(${a}, ${b}) needs at least one value`);
  }
  const left = typeof a === 'number' ? scalar((b as Value).graph, a, (b as Value).dtype) : a;
  const right = typeof b === 'number' ? scalar(left.graph, b, left.dtype) : b;
  if (left.dtype !== right.dtype) {
    throw new GraphError(
      'build',
      `${opName}: "${left.name}" is ${left.dtype} and "${right.name}" is ${right.dtype}; cast one of them`,
    );
  }
  return [left, right];
}

/** The broadcast shape of values; errors name them. */
export function broadcastShape(opName: string, values: readonly Value[]): Dim[] {
  let shape: Dim[] = [];
  for (const value of values) {
    const next = broadcast(shape, value.shape);
    if (next === undefined) {
      const found = values.map((v) => `"${v.name}" ${shapeText(v.shape)}`).join(' and ');
      throw new GraphError(
        'build',
        `${opName}: shapes do not fit: ${found}. Different symbols never broadcast; where they are known to be equal, ` +
          'say so with ops.assumeShape',
      );
    }
    shape = next;
  }
  return shape;
}
