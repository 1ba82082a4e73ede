import { flattenRows, gemm, matmul } from '../ops/matrix';
import { FloatAttribute } from '../attributes';
import type { InputGradient, Node, RuleContext, Value } from '../graph';
import { intAttribute, unbroadcast, type Rules } from './rule';

interface Product {
  readonly transA: boolean;
  readonly transB: boolean;
  readonly alpha: number;
}

function productOfNode(node: Node): Product {
  const alpha = node.attributes['alpha'];
  return {
    transA: intAttribute(node, 'transA', 0) === 1,
    transB: intAttribute(node, 'transB', 0) === 1,
    alpha: alpha instanceof FloatAttribute ? alpha.value : 1,
  };
}

type Multiply = (a: Value, b: Value, options: Product) => Value;

/** With C = α·op(A)·op(B): dA = α·dC·op(B)ᵀ, transposed if A was; no separate transpose is performed. */
function gradientOfA(multiply: Multiply, grad: Value, b: Value, { transA, transB, alpha }: Product): Value {
  return transA
    ? multiply(b, grad, { transA: transB, transB: true, alpha })
    : multiply(grad, b, { transA: false, transB: !transB, alpha });
}

function gradientOfB(multiply: Multiply, a: Value, grad: Value, { transA, transB, alpha }: Product): Value {
  return transB
    ? multiply(grad, a, { transA: true, transB: transA, alpha })
    : multiply(a, grad, { transA: !transA, transB: false, alpha });
}

/** A matrix shared by all leading axes: one product over all rows instead of a batch of products and a sum. */
function sharedMatrixGradient(c: RuleContext, product: Product): Value {
  return gradientOfB(
    (a, b, options) => gemm(a, b, null, options),
    flattenRows(c.input(0)),
    flattenRows(c.grad),
    product,
  );
}

function batched(c: RuleContext): readonly InputGradient[] {
  const product = productOfNode(c.node);
  const [a, b] = [c.input(0), c.input(1)];
  return [
    () => unbroadcast(gradientOfA(matmul, c.grad, b, product), a.shape),
    () =>
      b.rank === 2 && a.rank > 2 && !product.transA
        ? sharedMatrixGradient(c, product)
        : unbroadcast(gradientOfB(matmul, a, c.grad, product), b.shape),
  ];
}

function plain(c: RuleContext): readonly InputGradient[] {
  const product = productOfNode(c.node);
  const multiply: Multiply = (a, b, options) => gemm(a, b, null, options);
  return [
    () => gradientOfA(multiply, c.grad, c.input(1), product),
    () => gradientOfB(multiply, c.input(0), c.grad, product),
    () => unbroadcast(c.grad, c.input(2).shape),
  ];
}

export const matrixRules: Rules = { MatMul: batched, FusedMatMul: batched, Gemm: plain };
