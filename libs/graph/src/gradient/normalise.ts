import { productOf } from '../dims';
import { single } from '../ops/build';
import { exp, mul, neg, sub } from '../ops/elementwise';
import { flattenRows, gemm } from '../ops/matrix';
import { reduceSum } from '../ops/reduce';
import { reshape } from '../ops/shape';
import { FloatAttribute } from '../attributes';
import type { InputGradient, RuleContext, Value } from '../graph';
import { intAttribute, lazy, sumOfRows, type Rules } from './rule';

/** y·(g - Σ g·y) */
function softmaxBack(c: RuleContext): Value {
  const y = c.output(0);
  const axis = intAttribute(c.node, 'axis', -1);
  const isLast = axis === -1 || axis === y.rank - 1;
  const total = (isLast ? sumByContext(c) : undefined) ?? reduceSum(mul(c.grad, y), [axis], true);
  return mul(y, sub(c.grad, total));
}

/**
 * Σ g·y if the weights y are used only in o = y·v: with g = do·vᵀ it equals Σ do·o, over the width of v instead of
 * the length of the sequence (FlashAttention-2, arXiv:2307.08691, section 3.1). Undefined if y has other uses.
 */
function sumByContext({ graph, grad, ...c }: RuleContext): Value | undefined {
  const made = grad.producer;
  if (made?.opType !== 'FusedMatMul' || intAttribute(made, 'transB', 0) !== 1) return undefined;
  if (intAttribute(made, 'transA', 0) !== 0) return undefined;
  const { alpha } = made.attributes;
  if (alpha instanceof FloatAttribute && alpha.value !== 1) return undefined;
  const [gradient, values] = made.inputs;
  const use = graph.nodes.find(
    ({ opType, inputs }) => opType === 'MatMul' && inputs[0] === c.output(0) && inputs[1] === values,
  );
  if (use === undefined || !gradient || gradient.shape.join() !== use.outputs[0].shape.join())
    return undefined;
  return reduceSum(mul(gradient, use.outputs[0]), [gradient.rank - 1], true);
}

/** g - softmax·Σ g */
function logSoftmaxBack(c: RuleContext): Value {
  const total = reduceSum(c.grad, [intAttribute(c.node, 'axis', -1)], true);
  return sub(c.grad, mul(exp(c.output(0)), total));
}

/** [rows, 1] of a statistic [.., 1], and the same numbers as [1, rows]. */
function asColumn(x: Value): Value {
  return reshape(x, [productOf(x.shape), 1]);
}

function asRow(x: Value): Value {
  return reshape(x, [1, productOf(x.shape)]);
}

/** Σ over the last axis of x·scale for x [rows, H]: [rows, 1]. */
function weightedMean(x: Value, scale: Value): Value {
  const width = scale.shape[0] as number;
  return gemm(x, reshape(scale, [width, 1]), null, { alpha: 1 / width });
}

/**
 * With z = x - μ, x̂ = z/σ and h = g·scale: dx = (h - mean(h) - x̂·mean(h·x̂))/σ, here as (h - mean(h))/σ -
 * z·mean(h·z)/σ³, which avoids computing x̂. Means and sums of products with g·z are matrix products. μ and 1/σ come
 * from the forward pass.
 */
function layerNormBack(c: RuleContext): readonly InputGradient[] {
  const { scale, grad, inverse } = normParts(c, c.output(2));
  const centred = lazy(() => sub(flattenRows(c.input(0)), asColumn(c.output(1))));
  const product = lazy(() => mul(grad, centred()));
  return [
    () => {
      const h = sub(mul(grad, scale), weightedMean(grad, scale));
      return reshape(alongScaled(h, centred(), product(), scale, inverse), c.input(0).shape);
    },
    () => reshape(gemm(asRow(inverse), product(), null), scale.shape),
    () => reshape(sumOfRows(grad), scale.shape),
  ];
}

/** Like layerNorm without the mean: dx = h/σ - x·mean(h·x)/σ³. */
function rmsNormBack(c: RuleContext): readonly InputGradient[] {
  const { scale, grad, inverse } = normParts(c, c.output(1));
  const x = flattenRows(c.input(0));
  const product = lazy(() => mul(grad, x));
  return [
    () => reshape(alongScaled(mul(grad, scale), x, product(), scale, inverse), c.input(0).shape),
    () => reshape(gemm(asRow(inverse), product(), null), scale.shape),
  ];
}

function normParts(c: RuleContext, inverse: Value): { scale: Value; grad: Value; inverse: Value } {
  return { scale: c.input(1), grad: flattenRows(c.grad), inverse: asColumn(inverse) };
}

/** h/σ - z·mean(h·z)/σ³, with g·z given; all [rows, H], 1/σ [rows, 1]. */
function alongScaled(h: Value, z: Value, product: Value, scale: Value, inverse: Value): Value {
  const along = mul(weightedMean(product, scale), mul(inverse, mul(inverse, inverse)));
  return sub(mul(h, inverse), mul(z, along));
}

/** A rotation is reversed by the opposite angle. */
function rotaryBack(c: RuleContext): Value {
  const { attributes, domain } = c.node;
  const inputs = [c.grad, c.input(1), c.input(2), neg(c.input(3))];
  return single('RotaryEmbedding', inputs, c.grad.dtype, c.grad.shape, attributes, domain);
}

export const normaliseRules: Rules = {
  Softmax: (c) => [() => softmaxBack(c)],
  LogSoftmax: (c) => [() => logSoftmaxBack(c)],
  LayerNormalization: layerNormBack,
  SimplifiedLayerNormalization: rmsNormBack,
  RotaryEmbedding: (c) => [() => rotaryBack(c), null, null, null],
};
