import type { Optimizer } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { WeightSet } from '../weights/weight-set';
import type { AccumulatedGradients } from './accumulated-gradients';
import type { OptimizerArrays } from './optimizer-state';

/** An optimizer by name, created with the options of its run. */
export interface ChosenOptimizer {
  name: string;
  /** Equal if name and options are equal. */
  key: string;
  optimizer: Optimizer;
}

export interface OptimizerStepOptions {
  chosen: ChosenOptimizer;
  /** The number of this step, from 1. */
  step: number;
  learningRate: number;
  /** Maximum norm of all gradients together (clipping); 0 = no clipping. */
  maxNorm: number;
}

export interface OptimizerStepResult {
  /** The weights after the step, as a new set. */
  weights: WeightSet;
  /** The norm of all gradients before clipping. */
  norm: number;
}

/** Executes an optimizer's steps and keeps its state between them. */
export interface OptimizerSteps {
  /** Throws an `EngineError` of category `request`, with nothing changed, if the gradient is not finite. */
  step(
    weights: WeightSet,
    gradients: AccumulatedGradients,
    options: OptimizerStepOptions,
  ): Promise<OptimizerStepResult>;
  /** The state on the host. */
  arrays(): Promise<OptimizerArrays>;
  /** Resumes from a state on the host. */
  restore(weights: WeightSet, arrays: OptimizerArrays): Promise<void>;
  /** Discards the state. */
  reset(): void;
  release(): Promise<void>;
}

/** The norm; throws an `EngineError` of category `request` if it is not finite. */
export function finiteNorm(norm: number): number {
  if (Number.isFinite(norm)) return norm;
  throw new EngineError('request', `the gradient's norm is ${norm}; no step was taken`);
}

/** Factor that scales gradients of this norm to at most `maxNorm`; 0 = no scaling. */
export function clipScale(norm: number, maxNorm: number): number {
  return maxNorm > 0 && norm > maxNorm ? maxNorm / norm : 1;
}
