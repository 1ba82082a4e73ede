import { freeTensors, Graph, ops, Session, tensor, type DeviceMemory, type Tensor } from '@ui-rl/graph';
import type { FloatTensor } from '@ui-rl/models';
import { Recent } from '../recent';
import { WeightSet } from '../weights/weight-set';
import type { AccumulatedGradients } from './accumulated-gradients';
import { stateNames, type OptimizerArrays } from './optimizer-state';
import {
  clipScale,
  finiteNorm,
  type ChosenOptimizer,
  type OptimizerStepOptions,
  type OptimizerStepResult,
  type OptimizerSteps,
} from './optimizer-steps';

/** Inputs of a step's graph for one weight, and the outputs that replace them. */
interface WeightPorts {
  gradient: string;
  weight: { input: string; output: string };
  state: { name: string; input: string; output: string }[];
}

interface StepSession {
  session: Session;
  ports: ReadonlyMap<string, WeightPorts>;
}

type StateTensors = Record<string, Tensor>;

/** Number of optimizers with their options whose sessions are kept. */
const MOST_OPTIMIZERS = 8;

const SCALARS = ['scale', 'step', 'learning rate'] as const;

/**
 * Optimizer steps as graphs over device memory: weights, gradients and state stay there. After each step the new
 * weights are also copied to the host, in one transfer, for their digest and for checkpoints.
 */
export class DeviceSteps implements OptimizerSteps {
  private state = new Map<string, StateTensors>();
  private norm: Promise<Session> | undefined;
  private readonly sessions = new Recent<StepSession>(MOST_OPTIMIZERS, ({ session }) => session.release());

  constructor(private readonly memory: DeviceMemory) {}

  async step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    { chosen, step, learningRate, maxNorm }: OptimizerStepOptions,
  ): Promise<OptimizerStepResult> {
    const norm = finiteNorm(await this.normOf(weights, gradients));
    const { session, ports } = await this.stepSession(weights, chosen);
    const before = await weights.feeds(this.memory);
    const feeds: Record<string, Tensor> = {};
    const scalars = [clipScale(norm, maxNorm), step, learningRate];
    SCALARS.forEach((name, index) => (feeds[name] = tensor('float32', [scalars[index]], [])));
    for (const [name, { gradient, weight, state }] of ports) {
      feeds[gradient] = gradients.get(name);
      feeds[weight.input] = before[name];
      const own = await this.stateOf(weights, name, chosen);
      for (const each of state) feeds[each.input] = own[each.name];
    }
    const outputs = await session.run(feeds);
    const next = await this.toWeightSet(weights, outputs, ports).catch((error: unknown) => {
      freeTensors(Object.values(outputs));
      throw error;
    });
    // Nothing can fail from here on, so weights and state stay consistent.
    for (const [name, { state }] of ports) {
      freeTensors(Object.values(this.state.get(name)!));
      this.state.set(name, Object.fromEntries(state.map((each) => [each.name, outputs[each.output]])));
    }
    return { weights: next, norm };
  }

  async arrays(): Promise<OptimizerArrays> {
    const found = [...this.state].flatMap(([weight, own]) =>
      Object.entries(own).map(([name, each]) => ({ weight, name, each })),
    );
    const host = await this.memory.download(
      Object.fromEntries(found.map(({ each }, index) => [index, each])),
    );
    const arrays: OptimizerArrays = new Map([...this.state.keys()].map((weight) => [weight, {}]));
    found.forEach(({ weight, name }, index) => {
      arrays.get(weight)![name] = host[index].data as Float32Array;
    });
    return arrays;
  }

  async restore({ tensors }: WeightSet, arrays: OptimizerArrays): Promise<void> {
    const restored = new Map<string, StateTensors>();
    for (const [weight, own] of arrays) restored.set(weight, await this.uploaded(tensors.get(weight)!, own));
    this.reset();
    this.state = restored;
  }

  reset(): void {
    for (const own of this.state.values()) freeTensors(Object.values(own));
    this.state = new Map();
  }

  async release(): Promise<void> {
    this.reset();
    await (await this.norm)?.release();
    await this.sessions.release();
  }

  private async normOf(weights: WeightSet, gradients: AccumulatedGradients): Promise<number> {
    this.norm ??= this.create(normGraph(weights), 'cpu').catch((error: unknown) => {
      this.norm = undefined;
      throw error;
    });
    const session = await this.norm;
    const feeds = Object.fromEntries([...gradients.names].map((name) => [name, gradients.get(name)]));
    return Number((await session.run(feeds)).norm.data[0]);
  }

  private stepSession(weights: WeightSet, chosen: ChosenOptimizer): Promise<StepSession> {
    return this.sessions.get(chosen.key, async () => {
      const { graph, ports } = stepGraph(weights, chosen);
      return { session: await this.create(graph, this.memory.location), ports };
    });
  }

  private create(graph: Graph, outputLocation: DeviceMemory['location']): Promise<Session> {
    return Session.create(graph, { device: 'webgpu', outputLocation });
  }

  /** Zeros before the first step. */
  private async stateOf(
    { tensors }: WeightSet,
    name: string,
    { optimizer }: ChosenOptimizer,
  ): Promise<StateTensors> {
    let own = this.state.get(name);
    if (own === undefined) {
      const weight = tensors.get(name)!;
      const names = stateNames(optimizer, { name, shape: weight.shape });
      const zeros = names.map((each) => [each, new Float32Array(weight.data.length)] as const);
      own = await this.uploaded(weight, Object.fromEntries(zeros));
      this.state.set(name, own);
    }
    return own;
  }

  private uploaded(
    { shape }: FloatTensor,
    own: Readonly<Record<string, Float32Array>>,
  ): Promise<StateTensors> {
    const tensors = Object.entries(own).map(
      ([name, data]) => [name, tensor('float32', data, shape)] as const,
    );
    return this.memory.upload(Object.fromEntries(tensors));
  }

  private async toWeightSet(
    before: WeightSet,
    outputs: Readonly<Record<string, Tensor>>,
    ports: ReadonlyMap<string, WeightPorts>,
  ): Promise<WeightSet> {
    const next = Object.fromEntries(
      Array.from(ports, ([name, { weight }]) => [name, outputs[weight.output]]),
    );
    const host = await this.memory.download(next);
    const tensors = [...before.tensors].map(([name, { shape }]): [string, FloatTensor] => {
      return [name, { shape, data: host[name].data as Float32Array }];
    });
    const weights = new WeightSet(before.version + 1, new Map(tensors));
    weights.liesIn(this.memory, next);
    return weights;
  }
}

/** Gradients by weight name → `norm`, the Euclidean norm of all of them together. */
function normGraph({ tensors }: WeightSet): Graph {
  const graph = new Graph('gradient norm');
  const squares = Array.from(tensors, ([name, { shape }]) => {
    const gradient = graph.input(name, 'float32', shape);
    return ops.unsqueeze(ops.reduceSum(ops.mul(gradient, gradient)), [0]);
  });
  graph.output('norm', ops.sqrt(ops.reduceSum(ops.concat(squares, 0))));
  return graph;
}

/** One step over all weights. */
function stepGraph(
  { tensors }: WeightSet,
  { name: optimizerName, optimizer }: ChosenOptimizer,
): { graph: Graph; ports: Map<string, WeightPorts> } {
  const graph = new Graph(`step of ${optimizerName}`);
  const [scale, step, learningRate] = SCALARS.map((name) => graph.input(name, 'float32', []));
  const tools = { ops, scalar: (value: number) => ops.scalar(graph, value, 'float32') };
  const ports = new Map<string, WeightPorts>();
  for (const [name, { shape }] of tensors) {
    const gradient = graph.input(`gradient of ${name}`, 'float32', shape);
    const weight = graph.input(`weight ${name}`, 'float32', shape);
    const state = stateNames(optimizer, { name, shape }).map((each) => {
      return [each, graph.input(`${each} of ${name}`, 'float32', shape)] as const;
    });
    const next = optimizer.build!(
      { name, weight, gradient: ops.mul(gradient, scale), state: Object.fromEntries(state) },
      { step, learningRate },
      tools,
    );
    graph.output(`next weight ${name}`, next.weight);
    ports.set(name, {
      gradient: gradient.name,
      weight: { input: weight.name, output: `next weight ${name}` },
      state: state.map(([each, value]) => {
        const output = `next ${value.name}`;
        graph.output(output, next.state[each]);
        return { name: each, input: value.name, output };
      }),
    });
  }
  return { graph, ports };
}
