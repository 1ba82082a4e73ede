import type { FloatTensor } from '@ui-rl/models';
import { EngineError } from './errors';
import type { OptimizerOptions } from './types';
import type { WeightSet } from './weights';

interface Moments {
  first: Float32Array;
  second: Float32Array;
}

/**
 * AdamW (Loshchilov & Hutter 2019, algorithm 2) with the gradient's norm clipped over all weights. Defaults as in
 * Tinker: β 0.9 and 0.95, ε 1e-8, no weight decay.
 */
export class Optimizer {
  private readonly moments = new Map<string, Moments>();
  private readonly options: Required<OptimizerOptions>;
  steps = 0;

  constructor(options: OptimizerOptions) {
    this.options = {
      beta1: options.beta1 ?? 0.9,
      beta2: options.beta2 ?? 0.95,
      epsilon: options.epsilon ?? 1e-8,
      weightDecay: options.weightDecay ?? 0,
    };
  }

  /**
   * Changes the weights in place.
   * @param maxNorm gradients are scaled down to this norm; 0 = as they are
   * @returns the norm before clipping
   */
  step(
    weights: WeightSet,
    gradients: ReadonlyMap<string, Float32Array>,
    learningRate: number,
    maxNorm: number,
  ): number {
    const norm = normOf(gradients);
    if (!Number.isFinite(norm)) {
      throw new EngineError('request', `the gradient's norm is ${norm}; no step was taken`);
    }
    const scale = maxNorm > 0 && norm > maxNorm ? maxNorm / norm : 1;
    this.steps += 1;
    for (const [name, { data }] of weights.tensors) {
      this.update(data, gradients.get(name)!, this.momentsOf(name, data.length), learningRate, scale);
    }
    return norm;
  }

  /** Both moments of every weight, `<name>.exp_avg` and `<name>.exp_avg_sq`. */
  state(weights: WeightSet): Map<string, FloatTensor> {
    const state = new Map<string, FloatTensor>();
    for (const [name, { shape, data }] of weights.tensors) {
      const { first, second } = this.momentsOf(name, data.length);
      state.set(`${name}.exp_avg`, { shape, data: first });
      state.set(`${name}.exp_avg_sq`, { shape, data: second });
    }
    return state;
  }

  /** Goes on from what `state` gave. */
  restore(weights: WeightSet, state: ReadonlyMap<string, FloatTensor>, steps: number): void {
    const read = (name: string, length: number): Float32Array => {
      const found = state.get(name);
      if (found?.data.length === length) return found.data;
      throw new EngineError(
        'checkpoint',
        `the optimizer state holds ${found?.data.length ?? 'no'} numbers for "${name}", expected ${length}`,
      );
    };
    this.reset();
    for (const [name, { data }] of weights.tensors) {
      const first = read(`${name}.exp_avg`, data.length);
      this.moments.set(name, { first, second: read(`${name}.exp_avg_sq`, data.length) });
    }
    this.steps = steps;
  }

  reset(): void {
    this.moments.clear();
    this.steps = 0;
  }

  private update(
    data: Float32Array,
    gradient: Float32Array,
    { first, second }: Moments,
    learningRate: number,
    scale: number,
  ): void {
    const { beta1, beta2, epsilon, weightDecay } = this.options;
    const correction1 = 1 - beta1 ** this.steps;
    const root2 = Math.sqrt(1 - beta2 ** this.steps);
    const rate = learningRate / correction1;
    const keep = 1 - learningRate * weightDecay;
    for (let i = 0; i < data.length; i += 1) {
      const g = gradient[i] * scale;
      const m = (first[i] = beta1 * first[i] + (1 - beta1) * g);
      const v = (second[i] = beta2 * second[i] + (1 - beta2) * g * g);
      data[i] = data[i] * keep - (rate * m) / (Math.sqrt(v) / root2 + epsilon);
    }
  }

  private momentsOf(name: string, length: number): Moments {
    let moments = this.moments.get(name);
    if (moments === undefined) {
      moments = { first: new Float32Array(length), second: new Float32Array(length) };
      this.moments.set(name, moments);
    }
    return moments;
  }
}

function normOf(gradients: ReadonlyMap<string, Float32Array>): number {
  let squares = 0;
  for (const gradient of gradients.values()) {
    for (let i = 0; i < gradient.length; i += 1) squares += gradient[i] * gradient[i];
  }
  return Math.sqrt(squares);
}
