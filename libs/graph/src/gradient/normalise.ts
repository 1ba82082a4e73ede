import { single } from '../ops/build';
import { exp, mul, neg, sub } from '../ops/elementwise';
import { flattenRows } from '../ops/matrix';
import { reduceMean, reduceSum } from '../ops/reduce';
import type { Value } from '../value';
import { intAttribute, lazy, type InputGradient, type RuleContext, type Rules } from './rule';

/** y·(g - Σ g·y) */
function softmaxBack(c: RuleContext): Value {
  const y = c.output(0);
  const total = reduceSum(mul(c.grad, y), [intAttribute(c.node, 'axis', -1)], true);
  return mul(y, sub(c.grad, total));
}

/** g - softmax·Σ g */
function logSoftmaxBack(c: RuleContext): Value {
  const total = reduceSum(c.grad, [intAttribute(c.node, 'axis', -1)], true);
  return sub(c.grad, mul(exp(c.output(0)), total));
}

function sumOfRows(x: Value): Value {
  return reduceSum(flattenRows(x), [0]);
}

/** With x̂ = (x - μ)/σ and h = g·scale: dx = (h - mean(h) - x̂·mean(h·x̂))/σ. Mean and 1/σ come from the forward pass. */
function layerNormBack(c: RuleContext): readonly InputGradient[] {
  const [x, scale, mean, inverse] = [c.input(0), c.input(1), c.output(1), c.output(2)];
  const normal = lazy(() => mul(sub(x, mean), inverse));
  return [
    () => {
      const h = mul(c.grad, scale);
      const along = reduceMean(mul(h, normal()), [-1], true);
      const centred = sub(h, reduceMean(h, [-1], true));
      return mul(sub(centred, mul(normal(), along)), inverse);
    },
    () => sumOfRows(mul(c.grad, normal())),
    () => sumOfRows(c.grad),
  ];
}

/** With x̂ = x/σ and h = g·scale: dx = (h - x̂·mean(h·x̂))/σ. */
function rmsNormBack(c: RuleContext): readonly InputGradient[] {
  const [x, scale, inverse] = [c.input(0), c.input(1), c.output(1)];
  const normal = lazy(() => mul(x, inverse));
  return [
    () => {
      const h = mul(c.grad, scale);
      const along = reduceMean(mul(h, normal()), [-1], true);
      return mul(sub(h, mul(normal(), along)), inverse);
    },
    () => sumOfRows(mul(c.grad, normal())),
  ];
}

/** A rotation is undone by the opposite angle. */
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
