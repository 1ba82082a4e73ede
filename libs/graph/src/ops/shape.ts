import {
  addDims,
  canonical,
  divideDims,
  mulDims,
  productOf,
  sameShape,
  shapeText,
  subDims,
  termsOf,
  type Dim,
} from '../dims';
import { GraphError } from '../errors';
import type { Graph, Value } from '../graph';
import { axisOf, broadcastShape, ints, scalar, single } from './build';
import { broadcast } from '../dims';

const endOfAxis = 2 ** 31 - 1;

function memo(graph: Graph, key: string, build: () => Value): Value {
  let value = graph.memo.get(key);
  if (value === undefined) {
    value = graph.scope('shapes', build);
    graph.memo.set(key, value);
  }
  return value;
}

/** The extent of one axis at run time: int64 [1]. */
export function extentOf(x: Value, axis: number): Value {
  return single('Shape', [x], 'int64', [1], { start: axis, end: axis + 1 });
}

function symbolValue(graph: Graph, symbol: string): Value {
  return memo(graph, `symbol:${symbol}`, () => {
    const { value, axis, factor, offset } = graph.sourceOf(symbol);
    const whole = extentOf(value, axis);
    const extent = offset === 0 ? whole : single('Sub', [whole, ints(graph, [offset])], 'int64', [1]);
    return factor === 1 ? extent : single('Div', [extent, ints(graph, [factor])], 'int64', [1]);
  });
}

function termValue(graph: Graph, coefficient: number, symbols: readonly string[]): Value {
  const factors = symbols.map((symbol) => symbolValue(graph, symbol));
  if (coefficient !== 1 || factors.length === 0) factors.push(ints(graph, [coefficient]));
  return factors.reduce((a, b) => single('Mul', [a, b], 'int64', [1]));
}

/** A dimension as int64 [1], read from the inputs if it is symbolic. */
export function dimValue(graph: Graph, dim: Dim): Value {
  if (typeof dim === 'number') return ints(graph, [dim]);
  const terms = termsOf(dim);
  const whole = terms.every(({ symbols }) => symbols.every((symbol) => graph.knowsSymbol(symbol)))
    ? undefined
    : graph.sourceOfDim(dim);
  if (whole !== undefined) return memo(graph, `dim:${dim}`, () => extentOf(whole.value, whole.axis));
  return memo(graph, `dim:${dim}`, () =>
    terms
      .map(({ coefficient, symbols }) => termValue(graph, coefficient, symbols))
      .reduce((a, b) => single('Add', [a, b], 'int64', [1])),
  );
}

/** A shape as an int64 vector; constant if all dimensions are numbers. */
export function shapeTensor(graph: Graph, shape: readonly Dim[]): Value {
  if (shape.every((dim) => typeof dim === 'number')) return ints(graph, shape);
  const dims = shape.map(canonical);
  return memo(graph, `shape:${shapeText(dims)}`, () => {
    const parts = dims.map((dim) => dimValue(graph, dim));
    return parts.length === 1 ? parts[0] : single('Concat', parts, 'int64', [parts.length], { axis: 0 });
  });
}

/** The shape of a value as an int64 vector. */
export function shapeOf(x: Value): Value {
  if (x.shape.every((dim) => typeof dim === 'number')) return ints(x.graph, x.shape);
  return single('Shape', [x], 'int64', [x.rank]);
}

/** Declares a shape that inference cannot determine (same rank); it is not checked at run time. */
export function assumeShape(x: Value, shape: readonly Dim[]): Value {
  if (shape.length !== x.rank) {
    throw new GraphError('build', `assumeShape: "${x.name}" has rank ${x.rank}, not ${shape.length}`);
  }
  return sameShape(x.shape, shape.map(canonical)) ? x : single('Identity', [x], x.dtype, shape);
}

/** Fills in a -1 of a requested shape and checks that the number of elements is unchanged. */
function completeShape(x: Value, requested: readonly Dim[]): Dim[] {
  const total = productOf(x.shape);
  const shape = requested.map(canonical);
  const free = shape.indexOf(-1);
  const fail = (why: string): GraphError =>
    new GraphError('build', `reshape: "${x.name}" ${shapeText(x.shape)} to ${shapeText(requested)}: ${why}`);
  if (free >= 0) {
    const rest = divideDims(total, productOf(shape.toSpliced(free, 1)));
    if (rest === undefined) throw fail(`the open dimension cannot be derived from ${total} elements`);
    shape[free] = rest;
  }
  if (productOf(shape) !== total) {
    throw fail(
      `${total} elements cannot become ${productOf(shape)}; relate the symbols (P = '4*M') or use assumeShape`,
    );
  }
  return shape;
}

/** Keeps a symbolic extent with 0, derives one with -1, and reads the others from the graph's inputs. */
function reshapeOperand(x: Value, shape: readonly Dim[]): Value {
  const kept = shape.map((dim, i) => (typeof dim === 'string' && dim === x.shape[i] ? 0 : dim));
  const open = kept.filter((dim) => typeof dim === 'string').length;
  if (open > 1) return shapeTensor(x.graph, shape);
  return ints(
    x.graph,
    kept.map((dim) => (typeof dim === 'string' ? -1 : dim)),
  );
}

/**
 * The same elements in another shape; one dimension may be -1. With a `Value` (int64 vector) the shape is known only
 * at run time, and `result` declares it.
 */
export function reshape(x: Value, shape: readonly Dim[] | Value, result?: readonly Dim[]): Value {
  if (Array.isArray(shape)) {
    const target = completeShape(x, shape as readonly Dim[]);
    const origin = beforeReshapes(x, target);
    if (sameShape(target, origin.shape)) return origin;
    return single('Reshape', [origin, reshapeOperand(origin, target)], origin.dtype, target);
  }
  if (result === undefined)
    throw new GraphError('build', `reshape of "${x.name}" to a computed shape needs "result"`);
  return single('Reshape', [x, shape as Value], x.dtype, result);
}

/** The start of a chain of reshapes, or the link of it that already has the requested shape. */
function beforeReshapes(x: Value, target: readonly Dim[]): Value {
  let value = x;
  while (
    x.graph.looksThroughReshapes &&
    !sameShape(value.shape, target) &&
    value.producer?.opType === 'Reshape' &&
    !value.detached
  ) {
    value = value.producer.inputs[0] as Value;
  }
  return value;
}

/** Permutes axes; without `perm` reverses them. */
export function transpose(x: Value, perm: readonly number[] = x.shape.map((_, i) => x.rank - 1 - i)): Value {
  const axes = perm.map((axis) => axisOf(x, axis, 'transpose'));
  if (axes.length !== x.rank || new Set(axes).size !== x.rank) {
    throw new GraphError(
      'build',
      `transpose: [${perm.join(', ')}] is not an order of the axes of ${shapeText(x.shape)}`,
    );
  }
  if (axes.every((axis, i) => axis === i)) return x;
  const moved = axes.filter((axis) => x.shape[axis] !== 1);
  // Moving only axes of extent 1 does not move memory.
  if (moved.every((axis, i) => i === 0 || axis > moved[i - 1])) {
    return reshape(
      x,
      axes.map((axis) => x.shape[axis]),
    );
  }
  return single(
    'Transpose',
    [x],
    x.dtype,
    axes.map((axis) => x.shape[axis]),
    { perm: axes },
  );
}

/** Adds axes of extent 1 at these positions of the result. */
export function unsqueeze(x: Value, axes: readonly number[]): Value {
  const rank = x.rank + axes.length;
  const sorted = axes.map((axis) => axisOf(x, axis, 'unsqueeze', rank)).toSorted((a, b) => a - b);
  const shape = [...x.shape];
  for (const axis of sorted) shape.splice(axis, 0, 1);
  return single('Unsqueeze', [x, ints(x.graph, sorted)], x.dtype, shape);
}

/** Removes axes of extent 1. */
export function squeeze(x: Value, axes: readonly number[]): Value {
  const normalized = axes.map((axis) => axisOf(x, axis, 'squeeze'));
  for (const axis of normalized) {
    if (x.shape[axis] !== 1) {
      throw new GraphError('build', `squeeze: axis ${axis} of "${x.name}" ${shapeText(x.shape)} is not 1`);
    }
  }
  const shape = x.shape.filter((_, i) => !normalized.includes(i));
  return single('Squeeze', [x, ints(x.graph, normalized)], x.dtype, shape);
}

/** Joins values along an axis; all other dimensions must agree. */
export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values;
  if (first === undefined) throw new GraphError('build', 'concat of nothing');
  if (values.length === 1) return first;
  const place = axisOf(first, axis, 'concat');
  for (const value of values) {
    const fits =
      value.rank === first.rank && value.shape.every((dim, i) => i === place || dim === first.shape[i]);
    if (!fits || value.dtype !== first.dtype) {
      const found = values.map((v) => `${v.dtype} ${shapeText(v.shape)}`).join(', ');
      throw new GraphError('build', `concat along axis ${place}: values do not fit: ${found}`);
    }
  }
  const extent = values.map((value) => value.shape[place]).reduce(addDims);
  return single('Concat', values, first.dtype, first.shape.with(place, extent), { axis: place });
}

function slicedExtent(extent: Dim, start: Dim, end: Dim | undefined): Dim {
  const from = typeof start === 'number' && start < 0 ? addDims(extent, start) : start;
  if (end === undefined) return subDims(extent, from);
  const to = typeof end === 'number' && end < 0 ? addDims(extent, end) : end;
  const size = subDims(
    typeof to === 'number' && typeof extent === 'number' ? Math.min(to, extent) : to,
    from,
  );
  return typeof size === 'number' ? Math.max(size, 0) : size;
}

/**
 * Elements `start` to `end` (exclusive; default: the end) of one axis. Numbers may be negative, counting from the
 * end; symbols are read from the inputs. A numeric end on a symbolic axis must not exceed its extent.
 */
export function slice(x: Value, axis: number, start: Dim, end?: Dim): Value {
  const place = axisOf(x, axis, 'slice');
  const extent = slicedExtent(
    x.shape[place],
    canonical(start),
    end === undefined ? undefined : canonical(end),
  );
  if (extent === x.shape[place]) return x;
  const bounds = [dimValue(x.graph, start), dimValue(x.graph, end ?? endOfAxis), ints(x.graph, [place])];
  return single('Slice', [x, ...bounds], x.dtype, x.shape.with(place, extent));
}

/**
 * Elements `start` to `end` (exclusive, limited to the end of the axis) of one axis, with computed bounds: int64 [1].
 * @param extent a unique dimension for the result
 */
export function sliceAt(x: Value, axis: number, start: Value, end: Value, extent: Dim): Value {
  const place = axisOf(x, axis, 'sliceAt');
  return single('Slice', [x, start, end, ints(x.graph, [place])], x.dtype, x.shape.with(place, extent));
}

/**
 * Pads an axis at its end with zeros to the extent of the dimension `to`, or of int64 [1] `to` with the resulting
 * dimension `extent`.
 */
export function padEnd(x: Value, axis: number, to: Dim | Value, extent: Dim = to as Dim): Value {
  const place = axisOf(x, axis, 'padEnd');
  const target = typeof to === 'object' ? to : dimValue(x.graph, to);
  const missing = single('Sub', [target, extentOf(x, place)], 'int64', [1]);
  const pads = single('Concat', [ints(x.graph, [0]), missing], 'int64', [2], { axis: 0 });
  const inputs = [x, pads, scalar(x.graph, 0, x.dtype), ints(x.graph, [place])];
  return single('Pad', inputs, x.dtype, x.shape.with(place, extent));
}

/** Splits an axis into pieces of the given sizes. */
export function split(x: Value, sizes: readonly number[], axis: number): Value[] {
  const place = axisOf(x, axis, 'split');
  const total = sizes.reduce((a, b) => a + b, 0);
  if (x.shape[place] !== total) {
    throw new GraphError(
      'build',
      `split: sizes ${shapeText(sizes)} do not fill axis ${place} of ${shapeText(x.shape)}`,
    );
  }
  const outputs = sizes.map((size) => ({ dtype: x.dtype, shape: x.shape.with(place, size) }));
  return x.graph.node('Split', [x, ints(x.graph, sizes)], { axis: place }, outputs);
}

/** Repeats axes of extent 1 to reach `shape`. */
export function expand(x: Value, shape: readonly Dim[]): Value {
  const target = broadcast(x.shape, shape.map(canonical));
  if (target === undefined) {
    throw new GraphError(
      'build',
      `expand: "${x.name}" ${shapeText(x.shape)} cannot become ${shapeText(shape)}`,
    );
  }
  if (sameShape(target, x.shape)) return x;
  return single('Expand', [x, shapeTensor(x.graph, target)], x.dtype, target);
}

/** Repeats the elements of an axis: [a, b] with 2 becomes [a, a, b, b] (like torch's repeat_interleave). */
export function repeatInterleave(x: Value, count: number, axis: number): Value {
  if (count === 1) return x;
  const place = axisOf(x, axis, 'repeatInterleave');
  const wide = unsqueeze(x, [place + 1]);
  const repeated = expand(wide, wide.shape.with(place + 1, count));
  return reshape(repeated, x.shape.with(place, mulDims(x.shape[place], count)));
}

/** A tensor filled with one number. */
export function full(
  graph: Graph,
  shape: readonly Dim[],
  value: number,
  dtype: Value['dtype'] = 'float32',
): Value {
  const fill = scalar(graph, value, dtype);
  return shape.length === 0 ? fill : single('Expand', [fill, shapeTensor(graph, shape)], dtype, shape);
}

/** Zeros in the shape and type of a value. */
export function zerosLike(x: Value): Value {
  return single('Expand', [scalar(x.graph, 0, x.dtype), shapeOf(x)], x.dtype, x.shape);
}

/** 0, 1, … `count` - 1 as int64 [count]. */
export function range(graph: Graph, count: Dim): Value {
  const limit = single('Squeeze', [dimValue(graph, count), ints(graph, [0])], 'int64', []);
  return single('Range', [scalar(graph, 0, 'int64'), limit, scalar(graph, 1, 'int64')], 'int64', [count]);
}

/** Broadcasts values against each other. */
export function broadcastTogether(values: readonly Value[]): Value[] {
  const shape = broadcastShape('broadcastTogether', values);
  return values.map((value) => expand(value, shape));
}
