import type { DeviceMemory } from '@ui-rl/graph';
import type { Optimizer } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { WeightSet } from '../weights/weight-set';
import type { AccumulatedGradients } from './accumulated-gradients';
import { DeviceSteps } from './device-steps';
import { HostSteps } from './host-steps';
import {
  fromTensors,
  stateNames,
  toTensors,
  type OptimizerArrays,
  type SavedOptimizer,
} from './optimizer-state';
import type {
  ChosenOptimizer,
  OptimizerStepOptions,
  OptimizerStepResult,
  OptimizerSteps,
} from './optimizer-steps';

/** The optimizer of one trained model: its steps, and its state between them. */
export class ModelOptimizer {
  private taken = 0;
  /** optimizer to which the state belongs */
  private owner: string | undefined;
  private steps: OptimizerSteps | undefined;
  /** a loaded state that no step has used yet */
  private restored: OptimizerArrays | undefined;

  constructor(private readonly memory: DeviceMemory) {}

  async step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    options: Omit<OptimizerStepOptions, 'step'>,
  ): Promise<OptimizerStepResult> {
    const steps = await this.stepsOf(weights, options.chosen);
    const result = await steps.step(weights, gradients, { ...options, step: this.taken + 1 });
    this.taken += 1;
    return result;
  }

  async save(weights: WeightSet): Promise<SavedOptimizer> {
    const arrays = this.restored ?? (await this.steps?.arrays()) ?? new Map<string, never>();
    return { name: this.owner, steps: this.taken, tensors: toTensors(weights, arrays) };
  }

  /** Resumes from the result of `save`. */
  restore(weights: WeightSet, saved: SavedOptimizer): void {
    const arrays = fromTensors(weights, saved);
    this.reset();
    this.taken = saved.steps;
    this.owner = saved.steps === 0 ? undefined : saved.name;
    this.restored = arrays;
  }

  reset(): void {
    this.steps?.reset();
    this.restored = undefined;
    this.owner = undefined;
    this.taken = 0;
  }

  async release(): Promise<void> {
    await this.steps?.release();
  }

  private async stepsOf(weights: WeightSet, chosen: ChosenOptimizer): Promise<OptimizerSteps> {
    const { name, optimizer } = chosen;
    if (this.owner !== undefined && this.owner !== name) {
      throw new EngineError(
        'request',
        `${this.taken} steps were taken with the optimizer ${this.owner}, whose state ${name} cannot continue with; ` +
          'load the weights without the state of the optimizer to start it anew',
      );
    }
    const isFirst = this.owner === undefined || this.restored !== undefined;
    if (isFirst) await this.choosePlace(optimizer);
    this.owner = name;
    const steps = this.steps!;
    const { restored } = this;
    if (restored !== undefined) {
      checkNames(weights, restored, chosen);
      await steps.restore(weights, restored);
      this.restored = undefined;
    }
    return steps;
  }

  /** Takes steps on a device with its own memory if the optimizer supports it. */
  private async choosePlace(optimizer: Optimizer): Promise<void> {
    const onDevice = this.memory.location !== 'cpu' && optimizer.build !== undefined;
    if (this.steps !== undefined && this.steps instanceof DeviceSteps === onDevice) return;
    await this.steps?.release();
    this.steps = onDevice ? new DeviceSteps(this.memory) : new HostSteps(this.memory);
  }
}

function checkNames(
  { tensors }: WeightSet,
  arrays: OptimizerArrays,
  { name, optimizer }: ChosenOptimizer,
): void {
  for (const [weight, own] of arrays) {
    const kept = stateNames(optimizer, { name: weight, shape: tensors.get(weight)!.shape });
    const [found, expected] = [Object.keys(own), kept].map(
      (names) => names.toSorted().join(', ') || 'nothing',
    );
    if (found === expected) continue;
    throw new EngineError(
      'checkpoint',
      `the checkpoint holds ${found} for ${weight}; ${name} keeps ${expected}`,
    );
  }
}
