import { productOf } from '../dims';
import { single } from '../ops/build';
import { gather, scatterRows } from '../ops/indexing';
import { full, reshape, transpose } from '../ops/shape';
import type { Value } from '../value';
import { intAttribute, type InputGradient, type RuleContext, type Rules } from './rule';

/** Rows of the gradient are added up where they were picked from. */
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

function scatterElements(c: RuleContext, shape: Value['shape'], indices: Value, updates: Value): Value {
  const attributes = { axis: intAttribute(c.node, 'axis', -1), reduction: 'add' };
  const empty = full(c.graph, shape, 0, updates.dtype);
  return single('ScatterElements', [empty, indices, updates], updates.dtype, shape, attributes);
}

/** Of what was overwritten nothing remains; what was written gets the gradient of its place. */
function scatterRowsBack(c: RuleContext): readonly InputGradient[] {
  const places = c.input(1);
  const indices = (): Value => reshape(places, [places.shape[0]]);
  const adds = c.node.attributes['reduction'] === 'add';
  const cleared = (): Value =>
    scatterRows(c.grad, indices(), full(c.graph, c.input(2).shape, 0, c.grad.dtype));
  return [() => (adds ? c.grad : cleared()), null, () => gather(c.grad, indices(), 0)];
}

export const indexingRules: Rules = {
  Gather: (c) => [() => gatherBack(c), null],
  GatherElements: (c) => [() => scatterElements(c, c.input(0).shape, c.input(1), c.grad), null],
  ScatterND: scatterRowsBack,
  TopK: (c) => [() => scatterElements(c, c.input(0).shape, c.output(1), c.grad), null],
};
