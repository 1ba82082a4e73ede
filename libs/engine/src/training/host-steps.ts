import type { DeviceMemory } from '@ui-rl/graph';
import type { WeightSet } from '../weights/weight-set';
import type { AccumulatedGradients } from './accumulated-gradients';
import { arraysOf, stateNames, type OptimizerArrays } from './optimizer-state';
import {
  clipScale,
  finiteNorm,
  type OptimizerStepOptions,
  type OptimizerStepResult,
  type OptimizerSteps,
} from './optimizer-steps';

/** Optimizer steps in JavaScript, weight by weight; gradients are read from the device if they are there. */
export class HostSteps implements OptimizerSteps {
  private state: OptimizerArrays = new Map();

  constructor(private readonly memory: DeviceMemory) {}

  async step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    { chosen, step, learningRate, maxNorm }: OptimizerStepOptions,
  ): Promise<OptimizerStepResult> {
    const { optimizer } = chosen;
    const accumulated = await this.onHost(gradients);
    const norm = finiteNorm(gradientNorm(accumulated.values()));
    const scale = clipScale(norm, maxNorm);
    const next = weights.next();
    for (const [name, { shape, data }] of next.tensors) {
      const gradient = accumulated.get(name)!;
      if (optimizer.appliesGradientScale !== true) scaleBy(gradient, scale);
      const state = arraysOf(this.state, name, stateNames(optimizer, { name, shape }), data.length);
      const gradientScale = optimizer.appliesGradientScale === true ? scale : 1;
      optimizer.update({ name, shape, weight: data, gradient, state }, { step, learningRate, gradientScale });
    }
    return { weights: next, norm };
  }

  arrays(): Promise<OptimizerArrays> {
    return Promise.resolve(this.state);
  }

  restore(_weights: WeightSet, arrays: OptimizerArrays): Promise<void> {
    this.state = arrays;
    return Promise.resolve();
  }

  reset(): void {
    this.state = new Map();
  }

  release(): Promise<void> {
    return Promise.resolve();
  }

  private async onHost(gradients: AccumulatedGradients): Promise<Map<string, Float32Array>> {
    const tensors = Object.fromEntries([...gradients.names].map((name) => [name, gradients.get(name)]));
    const host = await this.memory.download(tensors);
    return new Map(Object.entries(host).map(([name, { data }]) => [name, data as Float32Array]));
  }
}

/** The Euclidean norm of all arrays together; not finite if any element is not. */
function gradientNorm(gradients: Iterable<Float32Array>): number {
  let total = 0;
  for (const gradient of gradients) total += sumOfSquares(gradient);
  return Math.sqrt(total);
}

/** Four accumulators, which the processor updates in parallel. */
function sumOfSquares(x: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = x.length - (x.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += x[i] * x[i];
    b += x[i + 1] * x[i + 1];
    c += x[i + 2] * x[i + 2];
    d += x[i + 3] * x[i + 3];
  }
  for (let i = whole; i < x.length; i++) a += x[i] * x[i];
  return a + b + c + d;
}

function scaleBy(values: Float32Array, factor: number): void {
  if (factor === 1) return;
  for (let i = 0; i < values.length; i++) values[i] *= factor;
}
