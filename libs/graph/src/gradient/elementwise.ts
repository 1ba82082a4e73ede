import * as ops from '../ops/elementwise';
import { FloatAttribute } from '../attributes';
import type { Node, Rule, RuleContext, Value } from '../graph';
import { unbroadcast, type Rules } from './rule';

/** A function of one value: computes the gradient from x, y = f(x) and the gradient of y. */
function unary(derivative: (grad: Value, x: Value, y: Value) => Value): Rule {
  return (c) => [() => derivative(c.grad, c.input(0), c.output(0))];
}

/** A broadcasting function of two values. */
function binary(left: (c: RuleContext) => Value, right: (c: RuleContext) => Value): Rule {
  return (c) => [() => unbroadcast(left(c), c.input(0).shape), () => unbroadcast(right(c), c.input(1).shape)];
}

/** The selected operand gets the gradient; the first one on a tie. */
function choice(firstChosen: (a: Value, b: Value) => Value): Rule {
  const mask = (c: RuleContext): Value => firstChosen(c.input(0), c.input(1));
  return binary(
    (c) => ops.where(mask(c), c.grad, 0),
    (c) => ops.where(mask(c), 0, c.grad),
  );
}

function floatAttribute(node: Node, name: string, fallback: number): number {
  const value = node.attributes[name];
  return value instanceof FloatAttribute ? value.value : fallback;
}

/** x·s(αx): with s = sigmoid(αx) and y = x·s the derivative is s·(1 + α(x - y)). */
function quickGelu(c: RuleContext): Value {
  const alpha = floatAttribute(c.node, 'alpha', 1.702);
  const [x, y] = [c.input(0), c.output(0)];
  const gate = ops.sigmoid(alpha === 1 ? x : ops.mul(x, alpha));
  const bend = ops.sub(x, y);
  return ops.mul(c.grad, ops.mul(gate, ops.add(alpha === 1 ? bend : ops.mul(bend, alpha), 1)));
}

/** Φ(x) + x·φ(x) */
function geluExact(grad: Value, x: Value): Value {
  const cdf = ops.add(ops.mul(ops.erf(ops.mul(x, Math.SQRT1_2)), 0.5), 0.5);
  const density = ops.mul(ops.exp(ops.mul(ops.square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI));
  return ops.mul(grad, ops.add(cdf, ops.mul(x, density)));
}

/** The tanh form equals x·sigmoid(2u) with u = k(x + c·x³), so its derivative is s·(1 + 2u′(x - y)). */
function geluTanh(grad: Value, x: Value, y: Value): Value {
  const [k2, c] = [2 * Math.sqrt(2 / Math.PI), 0.044715];
  const x2 = ops.square(x);
  const gate = ops.sigmoid(ops.mul(x, ops.add(ops.mul(x2, k2 * c), k2)));
  const slope = ops.add(ops.mul(x2, 3 * k2 * c), k2);
  return ops.mul(grad, ops.mul(gate, ops.add(ops.mul(ops.sub(x, y), slope), 1)));
}

function pow(c: RuleContext): readonly (() => Value)[] {
  const [base, exponent] = [c.input(0), c.input(1)];
  return [
    () => {
      const slope = ops.mul(exponent, ops.pow(base, ops.sub(exponent, 1)));
      return unbroadcast(ops.mul(c.grad, slope), base.shape);
    },
    () => unbroadcast(ops.mul(c.grad, ops.mul(c.output(0), ops.log(base))), exponent.shape),
  ];
}

export const elementwiseRules: Rules = {
  Add: binary(
    (c) => c.grad,
    (c) => c.grad,
  ),
  Sub: binary(
    (c) => c.grad,
    (c) => ops.neg(c.grad),
  ),
  Mul: binary(
    (c) => ops.mul(c.grad, c.input(1)),
    (c) => ops.mul(c.grad, c.input(0)),
  ),
  Div: binary(
    (c) => ops.div(c.grad, c.input(1)),
    (c) => ops.neg(ops.div(ops.mul(c.grad, c.output(0)), c.input(1))),
  ),
  Pow: pow,
  Min: choice(ops.lessOrEqual),
  Max: choice(ops.greaterOrEqual),
  Neg: unary((g) => ops.neg(g)),
  Abs: unary((g, x) => ops.mul(g, ops.sign(x))),
  Exp: unary((g, _x, y) => ops.mul(g, y)),
  Log: unary((g, x) => ops.div(g, x)),
  Sqrt: unary((g, _x, y) => ops.div(ops.mul(g, 0.5), y)),
  Reciprocal: unary((g, _x, y) => ops.neg(ops.mul(g, ops.square(y)))),
  Sin: unary((g, x) => ops.mul(g, ops.cos(x))),
  Cos: unary((g, x) => ops.neg(ops.mul(g, ops.sin(x)))),
  Erf: unary((g, x) => ops.mul(g, ops.mul(ops.exp(ops.neg(ops.square(x))), 2 / Math.sqrt(Math.PI)))),
  Tanh: unary((g, _x, y) => ops.sub(g, ops.mul(g, ops.square(y)))),
  Sigmoid: unary((g, _x, y) => ops.mul(g, ops.sub(y, ops.square(y)))),
  Softplus: unary((g, x) => ops.mul(g, ops.sigmoid(x))),
  Relu: unary((g, x) => ops.where(ops.greater(x, 0), g, 0)),
  QuickGelu: (c) => [() => quickGelu(c)],
  Gelu: (c) => [
    () =>
      c.node.attributes['approximate'] === 'tanh'
        ? geluTanh(c.grad, c.input(0), c.output(0))
        : geluExact(c.grad, c.input(0)),
  ],
  Clip: (c) => {
    const inside = (): Value =>
      ops.and(ops.greaterOrEqual(c.input(0), c.input(1)), ops.lessOrEqual(c.input(0), c.input(2)));
    return [() => ops.where(inside(), c.grad, 0), null, null];
  },
  Where: (c) => [
    null,
    () => unbroadcast(ops.where(c.input(0), c.grad, 0), c.input(1).shape),
    () => unbroadcast(ops.where(c.input(0), 0, c.grad), c.input(2).shape),
  ],
  Cast: unary((g, x) => ops.cast(g, x.dtype)),
  Identity: (c) => [() => c.grad],
};
