import { components } from '@ui-rl/algorithms';
import { tensor, type Tensor } from '@ui-rl/graph';
import { type FloatTensor, readSafetensors, readSafetensorsHeader, writeSafetensors } from '@ui-rl/models';
import type { Optimizer, OptimizerComponent } from '@ui-rl/plugin-kit';
import { Orthogonalizer } from './orthogonalizer';

const OPTIMIZER = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weight_decay: 0.01 };
/** Maximum global norm; larger gradients are scaled down. */
const MAX_GRAD_NORM = 1;
const STATE = ['exp_avg', 'exp_avg_sq', 'momentum_buffer'] as const;
type StateName = (typeof STATE)[number];

/** Optimizer of matrices; all other weights use AdamW. */
export type MatrixOptimizer = 'adamw' | 'muon';
const MOMENTUM = 0.95;
/**
 * Root mean square of a Muon update, relative to the learning rate: similar to AdamW's first steps. Liu et al. 2025
 * (arXiv:2502.16982, section 2.2) use 0.2, which is slower here.
 */
const MUON_SCALE = 1;
/** Weights that are not hidden matrices: embeddings, positions, output layers. */
const NO_MATRIX = /embed|^heads\./;

/** Weights by name with their optimizer state, saved and restored together. */
export class TrainedWeights {
  private stepCount = 0;
  private readonly optimizer = adamw();
  private readonly orthogonalizer = new Orthogonalizer();
  private readonly states = new Map<string, Partial<Record<StateName, Float32Array>>>();

  constructor(
    readonly weights: ReadonlyMap<string, FloatTensor>,
    private readonly matrices: MatrixOptimizer = 'adamw',
  ) {}

  /** Optimizer steps so far. */
  get steps(): number {
    return this.stepCount;
  }

  /** The weights as graph inputs, without copies. */
  feeds(): Record<string, Tensor> {
    const entries = [...this.weights].map(([name, { shape, data }]): [string, Tensor] => [
      name,
      tensor('float32', data, shape),
    ]);
    return Object.fromEntries(entries);
  }

  /**
   * One optimizer step; weights without a gradient are unchanged.
   * @returns the global gradient norm before clipping
   * @throws Error if it is not finite; no weights change
   */
  async update(gradients: ReadonlyMap<string, Float32Array>, learningRate: number): Promise<number> {
    const norm = Math.sqrt([...gradients.values()].reduce((sum, each) => sum + sumOfSquares(each), 0));
    if (!Number.isFinite(norm)) throw new Error(`step ${this.stepCount + 1}: the gradient's norm is ${norm}`);
    const gradientScale = norm > MAX_GRAD_NORM ? MAX_GRAD_NORM / norm : 1;
    this.stepCount++;
    for (const [name, gradient] of gradients) {
      const { shape, data } = this.weights.get(name)!;
      if (this.matrices === 'muon' && shape.length === 2 && !NO_MATRIX.test(name)) {
        await this.moveMatrix(name, gradient, learningRate);
        continue;
      }
      const state = { exp_avg: this.stateOf(name, 'exp_avg'), exp_avg_sq: this.stateOf(name, 'exp_avg_sq') };
      const weight = { name, shape, weight: data, gradient, state };
      this.optimizer.update(weight, { step: this.stepCount, learningRate, gradientScale });
    }
    return norm;
  }

  release(): Promise<void> {
    return this.orthogonalizer.release();
  }

  /** A Muon step with Nesterov momentum, independent of the gradient's scale. */
  private async moveMatrix(name: string, gradient: Float32Array, learningRate: number): Promise<void> {
    const {
      data,
      shape: [rows, columns],
    } = this.weights.get(name)!;
    const momentum = this.stateOf(name, 'momentum_buffer');
    const direction = new Float32Array(data.length);
    for (let i = 0; i < data.length; i++) {
      momentum[i] = MOMENTUM * momentum[i] + (1 - MOMENTUM) * gradient[i];
      direction[i] = MOMENTUM * momentum[i] + (1 - MOMENTUM) * gradient[i];
    }
    const orthogonal = await this.orthogonalizer.run(direction, rows, columns);
    const rate = learningRate * MUON_SCALE * Math.sqrt(Math.max(rows, columns));
    const keep = 1 - learningRate * OPTIMIZER.weight_decay;
    for (let i = 0; i < data.length; i++) data[i] = data[i] * keep - rate * orthogonal[i];
  }

  /** Saves weights and state as one safetensors file. */
  async save(file: string): Promise<void> {
    const tensors = new Map<string, FloatTensor>(this.weights);
    for (const [name, state] of this.states) {
      for (const [key, data] of Object.entries(state)) {
        tensors.set(`${key}/${name}`, { shape: this.weights.get(name)!.shape, data });
      }
    }
    await writeSafetensors(file, tensors, { metadata: { step: String(this.stepCount) } });
  }

  /** Loads the weights found in a file written by `save`; others keep their values. */
  async load(file: string): Promise<void> {
    const { metadata } = await readSafetensorsHeader(file);
    for (const [name, { data }] of await readSafetensors(file)) {
      const [state, of] = splitName(name);
      const weight = this.weights.get(of);
      if (weight?.data.length !== data.length) continue;
      (state === undefined ? weight.data : this.stateOf(of, state)).set(data);
    }
    this.stepCount = Number(metadata.step);
  }

  private stateOf(name: string, key: StateName): Float32Array {
    const state = this.states.get(name) ?? {};
    this.states.set(name, state);
    return (state[key] ??= new Float32Array(this.weights.get(name)!.data.length));
  }
}

function splitName(name: string): [state: StateName | undefined, of: string] {
  const state = STATE.find((key) => name.startsWith(`${key}/`));
  return state === undefined ? [undefined, name] : [state, name.slice(state.length + 1)];
}

function adamw(): Optimizer {
  const component = components.find(({ kind, name }) => kind === 'optimizer' && name === 'adamw');
  return (component as OptimizerComponent<typeof OPTIMIZER>).create(OPTIMIZER, {});
}

function sumOfSquares(values: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] * values[i];
  return sum;
}
