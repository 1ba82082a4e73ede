import type { Optimizer } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { WeightSet } from '../weights/weight-set';
import type { AccumulatedGradients } from './accumulated-gradients';
import type { OptimizerArrays } from './optimizer-state';

/** An optimizer by name, made with the options of its run. */
export interface ChosenOptimizer {
  name: string;
  /** Equal where name and options are. */
  key: string;
  optimizer: Optimizer;
}

export interface OptimizerStepOptions {
  chosen: ChosenOptimizer;
  /** The number of this step, from 1. */
  step: number;
  learningRate: number;
  /** Gradients are scaled down together to this norm; 0 = never. */
  maxNorm: number;
}

export interface OptimizerStepResult {
  /** The weights after the step, a set of its own. */
  weights: WeightSet;
  /** The norm of all gradients before clipping. */
  norm: number;
}

/** Where an optimizer's steps are taken, and its state kept between them. */
export interface OptimizerSteps {
  /** Throws an `EngineError` of category `request`, with nothing changed, where the gradient is not finite. */
  step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    options: OptimizerStepOptions,
  ): Promise<OptimizerStepResult>;
  /** The state on the host. */
  arrays(): Promise<OptimizerArrays>;
  /** Goes on with a state from the host. */
  restore(weights: WeightSet, arrays: OptimizerArrays): Promise<void>;
  /** Forgets the state. */
  reset(): void;
  release(): Promise<void>;
}

/** The norm; throws an `EngineError` of category `request` where it is not finite. */
export function finiteNorm(norm: number): number {
  if (Number.isFinite(norm)) return norm;
  throw new EngineError('request', `the gradient's norm is ${norm}; no step was taken`);
}

/** What gradients of that norm are multiplied with so that it is at most `maxNorm`; 0 = as they are. */
export function clipScale(norm: number, maxNorm: number): number {
  return maxNorm > 0 && norm > maxNorm ? maxNorm / norm : 1;
}
