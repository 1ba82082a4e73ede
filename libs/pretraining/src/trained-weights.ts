import { components } from '@ui-rl/algorithms';
import { tensor, type Tensor } from '@ui-rl/graph';
import { type FloatTensor, readSafetensors, readSafetensorsHeader, writeSafetensors } from '@ui-rl/models';
import type { Optimizer, OptimizerComponent } from '@ui-rl/plugin-kit';

const OPTIMIZER = { beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weight_decay: 0.01 };
/** Gradients are scaled down together to this norm. */
const MAX_GRAD_NORM = 1;
const STATE = ['exp_avg', 'exp_avg_sq'] as const;

/** Weights by name with AdamW's state, saved and restored together. */
export class TrainedWeights {
  private stepCount = 0;
  private readonly optimizer = adamw();
  private readonly moments = new Map<string, Record<string, Float32Array>>();

  constructor(readonly weights: ReadonlyMap<string, FloatTensor>) {}

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
   * One step; weights without a gradient stay as they are.
   * @returns the norm of all gradients together, before clipping
   * @throws Error where it is not finite, with nothing changed
   */
  update(gradients: ReadonlyMap<string, Float32Array>, learningRate: number): number {
    const norm = Math.sqrt([...gradients.values()].reduce((sum, each) => sum + sumOfSquares(each), 0));
    if (!Number.isFinite(norm)) throw new Error(`step ${this.stepCount + 1}: the gradient's norm is ${norm}`);
    const gradientScale = norm > MAX_GRAD_NORM ? MAX_GRAD_NORM / norm : 1;
    this.stepCount++;
    for (const [name, gradient] of gradients) {
      const { shape, data } = this.weights.get(name)!;
      const weight = { name, shape, weight: data, gradient, state: this.stateOf(name) };
      this.optimizer.update(weight, { step: this.stepCount, learningRate, gradientScale });
    }
    return norm;
  }

  /** Weights and state as one safetensors file. */
  async save(file: string): Promise<void> {
    const tensors = new Map<string, FloatTensor>(this.weights);
    for (const [name, state] of this.moments) {
      for (const key of STATE) {
        tensors.set(`${key}/${name}`, { shape: this.weights.get(name)!.shape, data: state[key] });
      }
    }
    await writeSafetensors(file, tensors, { metadata: { step: String(this.stepCount) } });
  }

  /** Takes what a file of `save` has of these weights; others keep their values. */
  async load(file: string): Promise<void> {
    const { metadata } = await readSafetensorsHeader(file);
    for (const [name, { data }] of await readSafetensors(file)) {
      const [state, of] = splitName(name);
      const weight = this.weights.get(of);
      if (weight?.data.length !== data.length) continue;
      (state === undefined ? weight.data : this.stateOf(of)[state]).set(data);
    }
    this.stepCount = Number(metadata.step);
  }

  private stateOf(name: string): Record<string, Float32Array> {
    let state = this.moments.get(name);
    if (state === undefined) {
      const { length } = this.weights.get(name)!.data;
      state = Object.fromEntries(STATE.map((key) => [key, new Float32Array(length)]));
      this.moments.set(name, state);
    }
    return state;
  }
}

function splitName(name: string): [state: string | undefined, of: string] {
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
