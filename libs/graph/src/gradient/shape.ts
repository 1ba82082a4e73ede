import { addDims, subDims, type Dim } from '../dims';
import { GraphError } from '../errors';
import { ints, scalar, single } from '../ops/build';
import { triangle } from '../ops/indexing';
import { concat, dimValue, full, reshape, shapeTensor, slice, transpose } from '../ops/shape';
import type { InputGradient, RuleContext, Value } from '../graph';
import { constantInts, intAttribute, unbroadcast, type Rules } from './rule';

function reshapeBack(c: RuleContext): readonly InputGradient[] {
  return [() => reshape(c.grad, c.input(0).shape), ...c.node.inputs.slice(1).map(() => null)];
}

function transposeBack(c: RuleContext): Value {
  const perm = c.node.attributes['perm'] as readonly number[];
  const inverse = perm.map((_, axis) => perm.indexOf(axis));
  return transpose(c.grad, inverse);
}

/** From this number on, parts are sliced in one operation, needed or not, instead of one operation each. */
const manyParts = 8;

function concatParts(c: RuleContext): readonly InputGradient[] {
  return c.node.inputs.length < manyParts ? slicedParts(c) : splitParts(c);
}

function splitParts(c: RuleContext): readonly InputGradient[] {
  const axis = intAttribute(c.node, 'axis', 0);
  const outputs = c.node.inputs.map((_, i) => ({ dtype: c.grad.dtype, shape: c.input(i).shape }));
  const sizes = shapeTensor(
    c.graph,
    outputs.map(({ shape }) => shape[axis]),
  );
  const parts = c.graph.node('Split', [c.grad, sizes], { axis }, outputs);
  return parts.map((part) => () => part);
}

function slicedParts(c: RuleContext): readonly InputGradient[] {
  const axis = intAttribute(c.node, 'axis', 0);
  let start: Dim = 0;
  return c.node.inputs.map((_, i) => {
    const from = start;
    start = addDims(start, c.input(i).shape[axis]);
    const to = start;
    return () => slice(c.grad, axis, from, to);
  });
}

/** Pads the gradient of the sliced part with zeros. */
function slicePadded(c: RuleContext): Value {
  const x = c.input(0);
  const axes = constantInts(c.input(3));
  if (c.node.inputs.length > 4 || axes?.length !== 1) {
    throw new GraphError(
      'gradient',
      `Slice "${c.node.name}": only slices of one axis with step 1 have a gradient`,
    );
  }
  const [axis] = axes;
  const extent = x.shape[axis];
  const start = constantInts(c.input(1))?.[0];
  const before =
    start === undefined ? c.input(1) : dimValue(c.graph, start < 0 ? addDims(extent, start) : start);
  const rest = dimValue(c.graph, subDims(extent, c.grad.shape[axis]));
  const after = single('Sub', [rest, before], 'int64', [1]);
  const pads = concat([before, after], 0);
  return single('Pad', [c.grad, pads, scalar(c.graph, 0, x.dtype), ints(c.graph, [axis])], x.dtype, x.shape);
}

function joinParts(c: RuleContext): Value {
  const parts = c.node.outputs.map(
    (output, i) => c.gradOf(i) ?? full(c.graph, output.shape, 0, output.dtype),
  );
  const { dtype, shape } = c.input(0);
  return single('Concat', parts, dtype, shape, { axis: intAttribute(c.node, 'axis', 0) });
}

/** Along padded axes, only the inner part belongs to the input. */
function padCut(c: RuleContext): Value {
  const x = c.input(0);
  const axes = c.node.inputs.length > 3 ? constantInts(c.input(3)) : undefined;
  const start = constantInts(c.input(1))?.[0];
  if (axes?.length !== 1 || start === undefined) {
    throw new GraphError(
      'gradient',
      `Pad "${c.node.name}": only constant padding of one axis has a gradient`,
    );
  }
  return slice(c.grad, axes[0], start, addDims(start, x.shape[axes[0]]));
}

export const shapeRules: Rules = {
  Reshape: reshapeBack,
  Squeeze: reshapeBack,
  Unsqueeze: reshapeBack,
  Transpose: (c) => [() => transposeBack(c)],
  Concat: concatParts,
  Slice: (c) => [() => slicePadded(c), null, null, null],
  Split: (c) => [() => joinParts(c), null],
  Expand: (c) => [() => unbroadcast(c.grad, c.input(0).shape), null],
  Pad: (c) => [() => padCut(c), null, null, null],
  Trilu: (c) => [
    () => {
      const k = c.node.inputs.length > 1 ? (constantInts(c.input(1))?.[0] ?? 0) : 0;
      return triangle(c.grad, intAttribute(c.node, 'upper', 1) === 1 ? 'upper' : 'lower', k);
    },
    null,
  ],
};
