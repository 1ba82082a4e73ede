import { Graph, gradients, ops, Session, tensor, type Value } from '@ui-rl/graph';
import type { LossInput, LossTerms, PolicyLossComponent } from '@ui-rl/plugin-kit';

/** Per token, arrays of equal length. */
export interface Tokens extends Partial<Record<LossInput, number[]>> {
  /** For a critic: values. */
  logprobs: number[];
  weights: number[];
}

export interface EvaluatedLoss {
  /** Σ weight · token loss. */
  loss: number;
  /** Its derivative by each log-probability, or value. */
  gradient: number[];
  /** Per token. */
  metrics: Record<string, number[]>;
}

/** A loss of scope `token` with its gradient, as an engine would compute it. */
export async function evaluateLoss<Options>(
  component: PolicyLossComponent<Options>,
  options: Options,
  tokens: Tokens,
): Promise<EvaluatedLoss> {
  const graph = new Graph('loss');
  const said = component.trains === 'critic' ? 'predictions' : 'logprobs';
  const inputs = new Map(Object.keys(tokens).map((name) => [name, graph.input(name, 'float32', ['M'])]));
  const logprobs = inputs.get('logprobs')!;
  const declared = component.inputs.map((name): [LossInput, Value] => [name, inputs.get(name)!]);
  const { loss, metrics = {} } = component
    .create(options, {})
    .build({ ops, [said]: logprobs, inputs: Object.fromEntries(declared) } as unknown as LossTerms);
  const total = ops.reduceSum(ops.mul(loss, inputs.get('weights')!));
  graph.output('loss', total);
  graph.output('gradient', gradients(total, [logprobs])[0]);
  for (const [name, value] of Object.entries(metrics)) graph.output(`metric ${name}`, value);
  const session = await Session.create(graph, { device: 'cpu', threads: 1 });
  const feeds = Object.entries(tokens).map(([name, numbers]) => [
    name,
    tensor('float32', Float32Array.from(numbers), [numbers.length]),
  ]);
  const result = await session.run(Object.fromEntries(feeds));
  await session.release();
  const numbersOf = (name: string): number[] => Array.from(result[name].data as Float32Array);
  return {
    loss: Number(result.loss.data[0]),
    gradient: numbersOf('gradient'),
    metrics: Object.fromEntries(Object.keys(metrics).map((name) => [name, numbersOf(`metric ${name}`)])),
  };
}
