import { components } from '@ui-rl/algorithms';
import {
  type Device,
  deviceMemory,
  type DeviceMemory,
  freeTensors,
  Graph,
  ops,
  Session,
  tensor,
  type Tensor,
  type Value,
} from '@ui-rl/graph';
import { type FloatTensor, readSafetensors, readSafetensorsHeader, writeSafetensors } from '@ui-rl/models';
import type { Optimizer, OptimizerComponent } from '@ui-rl/plugin-kit';
import type { GradientSums } from './gradient-session';
import { muonStep } from './muon';

const OPTIMIZER = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weight_decay: 0.01 };
/**
 * Share of a step's weights in their moving average, which reaches back some 500 steps. At a constant learning rate
 * the average is better than the weights, nearly as if the rate had fallen to zero (arXiv:2405.18392, section 4.1).
 */
const AVERAGED_SHARE = 0.002;
/** Maximum global norm; larger gradients are scaled down. */
const MAX_GRAD_NORM = 1;
const ADAMW_STATE = ['exp_avg', 'exp_avg_sq'] as const;
const MUON_STATE = ['momentum_buffer'] as const;
type StateName = (typeof ADAMW_STATE)[number] | (typeof MUON_STATE)[number] | 'average';

/** Optimizer of matrices; all other weights use AdamW. */
export type MatrixOptimizer = 'adamw' | 'muon';
/** Weights that are not hidden matrices: embeddings, positions, output layers. */
const NO_MATRIX = /embed|^heads\./;

export type TrainingDevice = Exclude<Device, 'cuda'>;

export interface TrainingOptions {
  /** Default `adamw`. */
  matrices?: MatrixOptimizer | undefined;
  /** Default `cpu`. */
  device?: TrainingDevice | undefined;
}

/** Weights by name with their optimizer state, in the memory of a device; saved and restored together. */
export class TrainedWeights {
  private stepCount = 0;
  private step: Promise<Session> | undefined;
  /** Weights by name, and their state by `stateKey`. */
  private readonly tensors = new Map<string, Tensor>();

  private constructor(
    readonly device: TrainingDevice,
    private readonly shapes: ReadonlyMap<string, readonly number[]>,
    private readonly matrices: MatrixOptimizer,
    private readonly memory: DeviceMemory,
  ) {}

  static async create(
    weights: ReadonlyMap<string, FloatTensor>,
    { matrices = 'adamw', device = 'cpu' }: TrainingOptions = {},
  ): Promise<TrainedWeights> {
    const shapes = new Map(Array.from(weights, ([name, { shape }]) => [name, shape]));
    const trained = new TrainedWeights(device, shapes, matrices, deviceMemory(device));
    for (const [name, { data, shape }] of weights) {
      await trained.put(name, data);
      for (const state of trained.statesOf(name, shape)) {
        const initial = state === 'average' ? Float32Array.from(data) : new Float32Array(data.length);
        await trained.put(stateKey(state, name), initial);
      }
    }
    return trained;
  }

  /** Optimizer steps so far. */
  get steps(): number {
    return this.stepCount;
  }

  has(name: string): boolean {
    return this.shapes.has(name);
  }

  /** The weights as graph inputs, without copies. */
  feeds(): Record<string, Tensor> {
    return Object.fromEntries(Array.from(this.shapes.keys(), (name) => [name, this.tensors.get(name)!]));
  }

  /** The moving averages of the weights, as graph inputs of the weights' names, without copies. */
  averageFeeds(): Record<string, Tensor> {
    return Object.fromEntries(
      Array.from(this.shapes.keys(), (name) => [name, this.tensors.get(stateKey('average', name))!]),
    );
  }

  /** The weights on the host; on the CPU without copies. */
  async values(): Promise<Map<string, FloatTensor>> {
    return this.download(this.shapes.keys());
  }

  /** Moving averages of the weights, on the host; on the CPU without copies. */
  async averages(): Promise<Map<string, FloatTensor>> {
    const averages = await this.download(Array.from(this.shapes.keys(), (name) => stateKey('average', name)));
    return new Map(Array.from(averages, ([key, value]) => [weightOf(key), value]));
  }

  /**
   * One optimizer step; weights without a gradient are unchanged.
   * @returns the global gradient norm before clipping
   * @throws Error if it is not finite; no weights change
   */
  async update(gradients: GradientSums, learningRate: number): Promise<number> {
    this.step ??= this.createStep([...gradients.keys()]);
    const session = await this.step;
    const outputs = await session.run({
      ...Object.fromEntries(Array.from(gradients, ([name, each]) => [`gradient/${name}`, each])),
      ...Object.fromEntries(this.tensorsOf(gradients.keys())),
      step: tensor('float32', [this.stepCount + 1], []),
      learning_rate: tensor('float32', [learningRate], []),
      averaged_share: tensor('float32', [Math.max(AVERAGED_SHARE, 9 / (10 + this.stepCount))], []),
    });
    const [norm] = outputs.norm.data as Float32Array;
    delete outputs.norm;
    if (!Number.isFinite(norm)) {
      freeTensors(Object.values(outputs));
      throw new Error(`step ${this.stepCount + 1}: the gradient's norm is ${norm}`);
    }
    for (const [output, value] of Object.entries(outputs)) this.replace(output.slice(NEXT.length), value);
    this.stepCount++;
    return norm;
  }

  async release(): Promise<void> {
    freeTensors(this.tensors.values());
    await this.memory.release();
    await (await this.step)?.release();
  }

  /** Saves weights and state as one safetensors file. */
  async save(file: string): Promise<void> {
    const tensors = await this.download(this.tensors.keys());
    await writeSafetensors(file, tensors, { metadata: { step: String(this.stepCount) } });
  }

  /** Loads the weights and state found in a file written by `save`; others keep their values. */
  async load(file: string): Promise<void> {
    const { metadata } = await readSafetensorsHeader(file);
    const found = await readSafetensors(file);
    for (const [name, { data }] of found) {
      if (this.tensors.get(name)?.size !== data.length) continue;
      await this.put(name, Float32Array.from(data));
      const average = stateKey('average', name);
      if (this.shapes.has(name) && !found.has(average)) await this.put(average, Float32Array.from(data));
    }
    this.stepCount = Number(metadata.step);
  }

  private statesOf(name: string, { length }: readonly number[]): readonly StateName[] {
    const isMatrix = this.matrices === 'muon' && length === 2 && !NO_MATRIX.test(name);
    return [...(isMatrix ? MUON_STATE : ADAMW_STATE), 'average'];
  }

  /** Weights and their state. */
  private *tensorsOf(names: Iterable<string>): Iterable<[string, Tensor]> {
    for (const name of names) {
      for (const state of this.statesOf(name, this.shapes.get(name)!)) {
        yield [stateKey(state, name), this.tensors.get(stateKey(state, name))!];
      }
      yield [name, this.tensors.get(name)!];
    }
  }

  private async download(names: Iterable<string>): Promise<Map<string, FloatTensor>> {
    const wanted = Object.fromEntries(Array.from(names, (name) => [name, this.tensors.get(name)!]));
    const entries = Object.entries(await this.memory.download(wanted));
    return new Map(
      entries.map(([name, { dims, data }]) => [name, { shape: [...dims], data: data as Float32Array }]),
    );
  }

  /** @param name of a weight or of state, which has the weight's shape */
  private async put(name: string, data: Float32Array): Promise<void> {
    const shape = this.shapes.get(weightOf(name))!;
    const { value } = await this.memory.upload({ value: tensor('float32', data, shape) });
    this.replace(name, value);
  }

  private replace(name: string, value: Tensor): void {
    const before = this.tensors.get(name);
    if (before !== undefined) freeTensors([before]);
    this.tensors.set(name, value);
  }

  /** A step over weights that get gradients: the new weights and state, and the norm of all gradients. */
  private createStep(names: readonly string[]): Promise<Session> {
    const graph = new Graph('optimizer step');
    const gradients = names.map((name) =>
      graph.input(`gradient/${name}`, 'float32', [...this.shapes.get(name)!]),
    );
    const squares = gradients.map((each) => ops.unsqueeze(ops.reduceSum(ops.mul(each, each)), [0]));
    const norm = ops.sqrt(ops.reduceSum(ops.concat(squares, 0)));
    graph.output('norm', norm);
    const scale = ops.min(ops.div(MAX_GRAD_NORM, norm), 1);
    const [step, learningRate, share] = ['step', 'learning_rate', 'averaged_share'].map((name) =>
      graph.input(name, 'float32', []),
    );
    const outputLocation: Record<string, DeviceMemory['location']> = {};
    const output = (name: string, value: Value) => {
      graph.output(`${NEXT}${name}`, value);
      outputLocation[`${NEXT}${name}`] = this.memory.location;
    };
    names.forEach((name, index) => {
      const shape = [...this.shapes.get(name)!];
      const weight = graph.input(name, 'float32', shape);
      const states = this.statesOf(name, shape);
      const { average, ...state } = Object.fromEntries(
        states.map((each) => [each, graph.input(stateKey(each, name), 'float32', shape)]),
      );
      const next = states.includes('momentum_buffer')
        ? momentumStep(weight, state, gradients[index], learningRate)
        : adamw.build!(
            { name, weight, gradient: ops.mul(gradients[index], scale), state },
            { step, learningRate },
            { ops, scalar: (value: number) => ops.scalar(graph, value, 'float32') },
          );
      output(name, next.weight);
      for (const each of Object.keys(state)) output(stateKey(each as StateName, name), next.state[each]);
      const moved = ops.add(average, ops.mul(ops.sub(next.weight, average), share));
      output(stateKey('average', name), moved);
    });
    return Session.create(graph, { device: this.device, spinning: false, outputLocation });
  }
}

const NEXT = 'next/';

/** The weight of a name, which may be that of its state. */
const weightOf = (name: string) => name.slice(name.indexOf('/') + 1);

/** The moving average of a weight in a file written by `save`; the weight itself in a file without averages. */
export function averageIn<T>(stored: ReadonlyMap<string, T>, name: string): T | undefined {
  return stored.get(stateKey('average', name)) ?? stored.get(name);
}

const stateKey = (state: StateName, weight: string) => `${state}/${weight}`;

function momentumStep(
  weight: Value,
  state: Readonly<Record<string, Value>>,
  gradient: Value,
  learningRate: Value,
): { weight: Value; state: Record<string, Value> } {
  const options = { learningRate, weightDecay: OPTIMIZER.weight_decay };
  const next = muonStep({ weight, momentum: state.momentum_buffer }, gradient, options);
  return { weight: next.weight, state: { momentum_buffer: next.momentum } };
}

const adamw = adamwOptimizer();

function adamwOptimizer(): Optimizer {
  const component = components.find(({ kind, name }) => kind === 'optimizer' && name === 'adamw');
  return (component as OptimizerComponent<typeof OPTIMIZER>).create(OPTIMIZER, {});
}
