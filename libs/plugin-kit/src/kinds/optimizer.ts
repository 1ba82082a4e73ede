import type { ops, Value } from '@ui-rl/graph';
import type { ComponentBase } from './component';

/** One weight as an optimizer updates it. All arrays have the weight's number of elements, in row-major order. */
export interface OptimizedWeight {
  name: string;
  shape: readonly number[];
  /** Updated in place. */
  weight: Float32Array;
  /** The gradient after clipping, unless the optimizer applies `gradientScale` itself. */
  gradient: Float32Array;
  /** By the names in `state`; updated in place; zeros before the first step. */
  state: Readonly<Record<string, Float32Array>>;
}

export interface OptimizerStep {
  /** From 1. */
  step: number;
  learningRate: number;
  /** Remaining factor on the gradients; 1 unless the optimizer declares `appliesGradientScale`. */
  gradientScale: number;
}

/** The scalars of a step as float32 values of a device graph; gradients there are already clipped. */
export interface OptimizerStepValues {
  step: Value;
  learningRate: Value;
}

export type StateNames = readonly string[];
export type WeightDescription = Pick<OptimizedWeight, 'name' | 'shape'>;

export interface Optimizer {
  /**
   * Names of the state arrays per weight, in the weight's shape; saved in checkpoints as `<weight>.<name>`. A
   * function if they depend on the weight.
   */
  readonly state: StateNames | ((weight: WeightDescription) => StateNames);
  /** Whether `update` multiplies gradients by `gradientScale` itself, which saves a pass over them and a rounding. */
  readonly appliesGradientScale?: boolean;
  update(weight: OptimizedWeight, step: OptimizerStep): void;
  /**
   * The same update as a graph, for devices that keep weights and state in their own memory. Without it, they are
   * copied to the host for each step.
   */
  build?(
    weight: { name: string; weight: Value; gradient: Value; state: Readonly<Record<string, Value>> },
    step: OptimizerStepValues,
    graph: { ops: typeof ops; scalar(value: number): Value },
  ): { weight: Value; state: Record<string, Value> };
}

export type OptimizerComponent<Options = unknown> = ComponentBase<
  'optimizer',
  Options,
  Record<string, never>,
  Optimizer
>;
