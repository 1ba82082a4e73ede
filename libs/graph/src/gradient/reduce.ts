import { productOf, type Dim } from '../dims';
import { GraphError } from '../errors';
import { single } from '../ops/build';
import { cast, div, equal, mul } from '../ops/elementwise';
import { reduceSum } from '../ops/reduce';
import { dimValue, expand, reshape } from '../ops/shape';
import type { RuleContext, Value } from '../graph';
import { constantInts, intAttribute, type Rules } from './rule';

function reducedAxes(c: RuleContext): number[] {
  const axes = constantInts(c.input(1));
  if (axes === undefined) {
    throw new GraphError('gradient', `${c.node.opType} "${c.node.name}": its axes must be constant`);
  }
  return axes.map((axis) => (axis < 0 ? axis + c.input(0).rank : axis));
}

/** A reduced value with its axes restored as extents of 1. */
function keepAxes(reduced: Value, x: Value, axes: readonly number[]): Value {
  return reshape(
    reduced,
    x.shape.map((dim, i) => (axes.includes(i) ? 1 : dim)),
  );
}

/** 1 / number of elements behind each result. */
function share(c: RuleContext, axes: readonly number[]): Value | number {
  const count: Dim = productOf(axes.map((axis) => c.input(0).shape[axis]));
  if (typeof count === 'number') return 1 / count;
  const { dtype } = c.input(0);
  return single('Reciprocal', [cast(dimValue(c.graph, count), dtype)], dtype, [1]);
}

function meanBack(c: RuleContext): Value {
  const axes = reducedAxes(c);
  const x = c.input(0);
  return expand(mul(keepAxes(c.grad, x, axes), share(c, axes)), x.shape);
}

/** Equal extremes share the gradient equally. */
function extremeBack(c: RuleContext): Value {
  const axes = reducedAxes(c);
  const x = c.input(0);
  const hit = cast(equal(x, keepAxes(c.output(0), x, axes)), x.dtype);
  return mul(hit, div(keepAxes(c.grad, x, axes), reduceSum(hit, axes, true)));
}

export const reduceRules: Rules = {
  ReduceSum: (c) => [() => expand(keepAxes(c.grad, c.input(0), reducedAxes(c)), c.input(0).shape), null],
  ReduceMean: (c) => [() => meanBack(c), null],
  ReduceMax: (c) => [() => extremeBack(c), null],
  ReduceMin: (c) => [() => extremeBack(c), null],
  CumSum: (c) => [
    () => {
      const axis = c.input(1);
      const reverse = 1 - intAttribute(c.node, 'reverse', 0);
      return single('CumSum', [c.grad, axis], c.grad.dtype, c.grad.shape, { reverse });
    },
    null,
  ],
};
