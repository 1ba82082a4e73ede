import type { Graph, Rule, Value } from '../graph';
import type { Dim } from '../dims';
import { ints, single } from './build';
import { squeeze } from './shape';

/** The values of one loop iteration. */
export interface LoopTurn {
  /** values for the next iteration, in the shapes of the initial values */
  readonly carried: readonly Value[];
  /** values collected from every iteration; all iterations give equal shapes */
  readonly collected: readonly Value[];
}

export interface LoopOptions {
  /** number of iterations: int64 [1] */
  readonly count: Value;
  /** that number as a dimension of the collected values */
  readonly turns: Dim;
  /** values for the first iteration */
  readonly initial?: readonly Value[];
  /**
   * derivative of the loop as a whole, by its operands (see `operandsOf`); without it, the loop is not differentiable
   */
  readonly derivative?: Rule;
}

/**
 * Builds the body in a separate graph, which may read any value of the enclosing graph.
 * @param index int64 [1], 0 in the first iteration
 */
export type LoopBody = (body: Graph, index: Value, carried: readonly Value[]) => LoopTurn;

/** Repeats a body (ONNX Loop). `collected` values are returned with a new first axis, [turns, ...]. */
export function loop(graph: Graph, options: LoopOptions, build: LoopBody): LoopTurn {
  const { count, turns, initial = [], derivative } = options;
  const body = graph.body();
  const index = body.input(`${body.name}/index`, 'int64', []);
  const condition = body.input(`${body.name}/condition`, 'bool', []);
  const carriedIn = initial.map((value, i) =>
    body.input(`${body.name}/carried${i}`, value.dtype, value.shape),
  );
  const result = body.scope(body.name.slice(1), () => {
    const turn = build(body, single('Unsqueeze', [index, ints(body, [0])], 'int64', [1]), carriedIn);
    body.output(`${body.name}/go_on`, single('Identity', [condition], 'bool', []));
    return turn;
  });
  result.carried.forEach((value, i) => body.output(`${body.name}/next${i}`, value));
  result.collected.forEach((value, i) => body.output(`${body.name}/collected${i}`, value));
  const outputs = [
    ...initial.map(({ dtype, shape }) => ({ dtype, shape })),
    ...result.collected.map(({ dtype, shape }) => ({ dtype, shape: [turns, ...shape] })),
  ];
  const inputs = [squeeze(count, [0]), null, ...initial];
  const values = graph.node('Loop', inputs, {}, outputs, '', {
    body,
    derivative,
  });
  return { carried: values.slice(0, initial.length), collected: values.slice(initial.length) };
}
