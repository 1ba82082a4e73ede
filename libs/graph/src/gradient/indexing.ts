import { productOf } from '../dims';
import { single } from '../ops/build';
import { gather, scatterElements, scatterRows } from '../ops/indexing';
import { full, reshape, transpose } from '../ops/shape';
import type { InputGradient, RuleContext, Value } from '../graph';
import { intAttribute, type Rules } from './rule';

/** Adds rows of the gradient at the positions from which they were gathered. */
function gatherBack(c: RuleContext): Value {
  const [x, indices] = [c.input(0), c.input(1)];
  const axis = intAttribute(c.node, 'axis', 0);
  const before = productOf(x.shape.slice(0, axis));
  const after = productOf(x.shape.slice(axis + 1));
  const picked = productOf(indices.shape);
  const rows = reshape(transpose(reshape(c.grad, [before, picked, after]), [1, 0, 2]), [
    picked,
    before,
    after,
  ]);
  const empty = full(c.graph, [x.shape[axis], before, after], 0, x.dtype);
  const summed = scatterRows(empty, reshape(indices, [picked]), rows, 'add');
  return reshape(transpose(summed, [1, 0, 2]), x.shape);
}

function addedIntoZeros(c: RuleContext, indices: Value): Value {
  const empty = full(c.graph, c.input(0).shape, 0, c.grad.dtype);
  return scatterElements(empty, indices, c.grad, intAttribute(c.node, 'axis', -1), 'add');
}

const adds = (c: RuleContext): boolean => c.node.attributes['reduction'] === 'add';

function zerosLike(c: RuleContext, x: Value): Value {
  return full(c.graph, x.shape, 0, x.dtype);
}

/** Overwritten rows get no gradient; updates get the gradient of their positions. */
function scatterRowsBack(c: RuleContext): readonly InputGradient[] {
  const indices = (): Value => reshape(c.input(1), [c.input(1).shape[0]]);
  return [
    () => (adds(c) ? c.grad : scatterRows(c.grad, indices(), zerosLike(c, c.input(2)))),
    null,
    () => gather(c.grad, indices(), 0),
  ];
}

function scatterElementsBack(c: RuleContext): readonly InputGradient[] {
  const axis = intAttribute(c.node, 'axis', 0);
  return [
    () => (adds(c) ? c.grad : scatterElements(c.grad, c.input(1), zerosLike(c, c.input(2)), axis)),
    null,
    () => gatherAt(c.grad, c.input(1), axis),
  ];
}

/** Like takeAlongAxis, for indices that may cover only a part of the other axes. */
function gatherAt(x: Value, indices: Value, axis: number): Value {
  return single('GatherElements', [x, indices], x.dtype, indices.shape, { axis });
}

export const indexingRules: Rules = {
  Gather: (c) => [() => gatherBack(c), null],
  GatherElements: (c) => [() => addedIntoZeros(c, c.input(1)), null],
  ScatterND: scatterRowsBack,
  ScatterElements: scatterElementsBack,
  TopK: (c) => [() => addedIntoZeros(c, c.output(1)), null],
};
