import { AdamW, GraphError, type Moments } from '@ui-rl/graph';
import type { FloatTensor } from '@ui-rl/models';
import { EngineError } from './errors';
import type { OptimizerOptions } from './types';
import type { WeightSet } from './weights';

/** AdamW over a set of weights, with its state as tensors that can be saved. */
export class Optimizer {
  private readonly adamw: AdamW;

  constructor(options: OptimizerOptions) {
    this.adamw = new AdamW(options);
  }

  get steps(): number {
    return this.adamw.steps;
  }

  /**
   * Changes the weights in place.
   * @param maxNorm gradients are scaled down to this norm; 0 = as they are
   * @returns the norm before clipping
   * @throws EngineError `request`, with nothing changed, where the gradient is not finite.
   */
  step(
    weights: WeightSet,
    gradients: ReadonlyMap<string, Float32Array>,
    learningRate: number,
    maxNorm: number,
  ): number {
    const arrays = new Map([...weights.tensors].map(([name, { data }]) => [name, data]));
    try {
      return this.adamw.step(arrays, gradients, { learningRate, maxNorm });
    } catch (cause) {
      if (cause instanceof GraphError) throw new EngineError('request', cause.message, { cause });
      throw cause;
    }
  }

  /** Both moments of every weight that was trained, `<name>.exp_avg` and `<name>.exp_avg_sq`. */
  state(weights: WeightSet): Map<string, FloatTensor> {
    const state = new Map<string, FloatTensor>();
    for (const [name, { first, second }] of this.adamw.moments) {
      const { shape } = weights.tensors.get(name)!;
      state.set(`${name}.exp_avg`, { shape, data: first });
      state.set(`${name}.exp_avg_sq`, { shape, data: second });
    }
    return state;
  }

  /** Goes on from what `state` gave after so many steps. */
  restore(weights: WeightSet, state: ReadonlyMap<string, FloatTensor>, steps: number): void {
    const read = (name: string, length: number): Float32Array => {
      const found = state.get(name);
      if (found?.data.length === length) return found.data;
      throw new EngineError(
        'checkpoint',
        `the optimizer state holds ${found?.data.length ?? 'no'} numbers for "${name}", expected ${length}`,
      );
    };
    const moments = new Map<string, Moments>();
    for (const [name, { data }] of steps === 0 ? [] : weights.tensors) {
      const first = read(`${name}.exp_avg`, data.length);
      moments.set(name, { first, second: read(`${name}.exp_avg_sq`, data.length) });
    }
    this.adamw.restore(steps, moments);
  }

  reset(): void {
    this.adamw.restore(0, new Map());
  }
}
