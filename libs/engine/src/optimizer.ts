import { AdamW, GraphError, type DeviceMemory } from '@ui-rl/graph';
import type { FloatTensor } from '@ui-rl/models';
import { DeviceOptimizer } from './device-optimizer';
import { EngineError } from './errors';
import type { AccumulatedGradients } from './accumulated-gradients';
import { momentNames, readMoments } from './moments';
import type { OptimizerOptions } from './types';
import type { WeightSet } from './weights';

export interface OptimizerStep {
  /** the weights after the step, a set of its own */
  weights: WeightSet;
  /** the norm of all gradients before clipping */
  norm: number;
}

/** AdamW over a set of weights, with its state as tensors that can be saved. */
export interface Optimizer {
  /** Steps taken so far. */
  readonly steps: number;
  /**
   * @param maxNorm gradients are scaled down to this norm; 0 = as they are
   * Throws an `EngineError` of category `request`, with nothing changed, where the gradient is not finite.
   */
  step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    learningRate: number,
    maxNorm: number,
  ): Promise<OptimizerStep>;
  /** Both moments of every weight that was trained, `<name>.exp_avg` and `<name>.exp_avg_sq`. */
  state(weights: WeightSet): Promise<Map<string, FloatTensor>>;
  /** Goes on from what `state` gave after so many steps. */
  restore(weights: WeightSet, state: ReadonlyMap<string, FloatTensor>, steps: number): Promise<void>;
  reset(): void;
  release(): Promise<void>;
}

/** On the host a loop, else graphs over what lies in the memory of the device. */
export function makeOptimizer(options: OptimizerOptions, memory: DeviceMemory): Optimizer {
  return memory.location === 'cpu' ? new HostOptimizer(options) : new DeviceOptimizer(options, memory);
}

class HostOptimizer implements Optimizer {
  private readonly adamw: AdamW;

  constructor(options: OptimizerOptions) {
    this.adamw = new AdamW(options);
  }

  get steps(): number {
    return this.adamw.steps;
  }

  step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    learningRate: number,
    maxNorm: number,
  ): Promise<OptimizerStep> {
    const next = weights.next();
    const arrays = new Map([...next.tensors].map(([name, { data }]) => [name, data]));
    const arraysByName = [...gradients.names].map((name): [string, Float32Array] => {
      return [name, gradients.get(name).data as Float32Array];
    });
    try {
      const norm = this.adamw.step(arrays, new Map(arraysByName), { learningRate, maxNorm });
      return Promise.resolve({ weights: next, norm });
    } catch (cause) {
      if (cause instanceof GraphError)
        return Promise.reject(new EngineError('request', cause.message, { cause }));
      throw cause;
    }
  }

  state(weights: WeightSet): Promise<Map<string, FloatTensor>> {
    const state = new Map<string, FloatTensor>();
    for (const [name, { first, second }] of this.adamw.moments) {
      const { shape } = weights.tensors.get(name)!;
      const names = momentNames(name);
      state.set(names.first, { shape, data: first });
      state.set(names.second, { shape, data: second });
    }
    return Promise.resolve(state);
  }

  restore(weights: WeightSet, state: ReadonlyMap<string, FloatTensor>, steps: number): Promise<void> {
    this.adamw.restore(steps, readMoments(weights, state, steps));
    return Promise.resolve();
  }

  reset(): void {
    this.adamw.restore(0, new Map());
  }

  release(): Promise<void> {
    return Promise.resolve();
  }
}
