import { sameShape, shapeText } from '../dims';
import { isFloat } from '../dtype';
import { GraphError } from '../errors';
import { operandsOf, type Graph, type Node, type RuleContext, type Value } from '../graph';
import { scalar } from '../ops/build';
import { add } from '../ops/elementwise';
import { reshape } from '../ops/shape';
import { flat, rules } from './table';

/**
 * Reverse-mode derivatives: adds nodes to the graph that compute ∂loss/∂w for every `w` of `wrt` (inputs, constants
 * or intermediate values), in their shapes and types. `loss` has one element. Only nodes between `wrt` and the loss
 * are differentiated. Throws `GraphError` (category `gradient`) if an operation in between has no rule, naming it, or
 * if the loss does not depend on a value of `wrt`.
 */
export function gradients(loss: Value, wrt: readonly Value[]): Value[] {
  if (!loss.shape.every((dim) => dim === 1)) {
    throw new GraphError(
      'gradient',
      `the loss "${loss.name}" must have one element, found shape ${shapeText(loss.shape)}`,
    );
  }
  const one = scalar(loss.graph, 1, loss.dtype);
  return vectorJacobianProducts([loss], [reshape(one, loss.shape)], wrt);
}

/**
 * Σᵢ gradsᵢ · ∂outputsᵢ/∂w for every `w` of `wrt`: the backward pass of a part of a model whose output gradients come
 * from elsewhere (one layer of many). `grads` have the shapes of `outputs`.
 */
export function vectorJacobianProducts(
  outputs: readonly Value[],
  grads: readonly Value[],
  wrt: readonly Value[],
): Value[] {
  const [{ graph }] = outputs;
  const accumulated = new Accumulator();
  outputs.forEach((output, i) => {
    if (!sameShape(output.shape, grads[i].shape)) {
      const found = `${shapeText(grads[i].shape)} for "${output.name}" of shape ${shapeText(output.shape)}`;
      throw new GraphError('gradient', `a gradient must have the shape of its value, found ${found}`);
    }
    accumulated.add(output, grads[i]);
  });
  const nodes = [...graph.nodes];
  const reached = reachedFrom(nodes, wrt);
  graph.looksThroughReshapes = true;
  try {
    for (const node of nodes.toReversed()) differentiate(graph, node, reached, accumulated);
  } finally {
    graph.looksThroughReshapes = false;
  }
  return wrt.map((value) => accumulated.result(value));
}

/** Accumulates the gradients of each value. */
class Accumulator {
  private readonly sums = new Map<Value, Value>();

  add(value: Value, grad: Value): void {
    const known = this.sums.get(value);
    this.sums.set(value, known === undefined ? grad : add(known, grad));
  }

  get(value: Value): Value | undefined {
    return this.sums.get(value);
  }

  result(value: Value): Value {
    const sum = this.sums.get(value);
    if (sum === undefined) {
      throw new GraphError(
        'gradient',
        `the loss does not depend on "${value.name}", so there is no gradient for it`,
      );
    }
    return sum;
  }
}

/** All values that depend on `wrt` through floating-point values. */
function reachedFrom(nodes: readonly Node[], wrt: readonly Value[]): ReadonlySet<Value> {
  const reached = new Set<Value>(wrt);
  for (const node of nodes) {
    if (flat.has(node.opType) || !operandsOf(node).some((input) => input !== null && reached.has(input)))
      continue;
    for (const output of node.outputs) {
      if (isFloat(output.dtype) && !output.detached) reached.add(output);
    }
  }
  return reached;
}

function differentiate(
  graph: Graph,
  node: Node,
  reached: ReadonlySet<Value>,
  accumulated: Accumulator,
): void {
  const operands = operandsOf(node);
  const required = operands.map((input) => input !== null && reached.has(input));
  const arrived = node.outputs.some((output) => reached.has(output) && accumulated.get(output) !== undefined);
  if (!arrived || !required.includes(true)) return;
  const rule = node.derivative ?? (Object.hasOwn(rules, node.opType) ? rules[node.opType] : undefined);
  if (rule === undefined) {
    throw new GraphError(
      'gradient',
      `no derivative is known for operation ${node.opType} (node "${node.name}" of graph "${graph.name}"); add a rule ` +
        'for it, or cut the path with ops.stopGradient',
    );
  }
  graph.scope(`gradient${node.name}`, () => {
    const entries = rule(contextOf(graph, node, accumulated));
    operands.forEach((input, i) => {
      if (input === null || !required[i]) return;
      const build = entries[i];
      if (build === null || build === undefined) {
        throw new GraphError(
          'gradient',
          `${node.opType} "${node.name}" has no gradient for input ${i}, "${input.name}"`,
        );
      }
      accumulated.add(input, build());
    });
  });
}

function contextOf(graph: Graph, node: Node, accumulated: Accumulator): RuleContext {
  return {
    graph,
    node,
    input: (i) => node.inputs[i] as Value,
    output: (i) => node.outputs[i],
    gradOf: (i) => accumulated.get(node.outputs[i]),
    get grad() {
      const grad = accumulated.get(node.outputs[0]);
      if (grad === undefined) {
        throw new GraphError(
          'gradient',
          `${node.opType} "${node.name}": only its first output can carry a gradient`,
        );
      }
      return grad;
    },
  };
}
