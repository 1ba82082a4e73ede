import type { FloatTensor } from '@ui-rl/models';
import type { Optimizer, StateNames, WeightDescription } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';
import type { WeightSet } from '../weights/weight-set';

/** Optimizer state on the host, by weight name and state name. */
export type OptimizerArrays = Map<string, Record<string, Float32Array>>;

/** An optimizer's state as checkpoints store it. */
export interface SavedOptimizer {
  /** Its name; undefined before its first step. */
  name?: string | undefined;
  /** Number of steps it has taken. */
  steps: number;
  /** `<weight>.<state name>` → numbers, in the shape of the weight */
  tensors: ReadonlyMap<string, FloatTensor>;
}

export function toTensors(weights: WeightSet, arrays: OptimizerArrays): Map<string, FloatTensor> {
  const tensors = new Map<string, FloatTensor>();
  for (const [weight, states] of arrays) {
    const { shape } = weights.tensors.get(weight)!;
    for (const [state, data] of Object.entries(states)) tensors.set(`${weight}.${state}`, { shape, data });
  }
  return tensors;
}

/**
 * The inverse of `toTensors`; undefined if no step was taken. Throws an `EngineError` of category `checkpoint` if a
 * weight's state is missing or has another size.
 */
export function fromTensors(weights: WeightSet, { steps, tensors }: SavedOptimizer): OptimizerArrays {
  const arrays: OptimizerArrays = new Map();
  if (steps === 0) return arrays;
  const saved = byWeight(tensors);
  for (const [weight, { data }] of weights.tensors) {
    // An optimizer may keep no state for some weights; its own code verifies that.
    const own = saved.get(weight) ?? new Map<string, Float32Array | undefined>();
    const copies = Array.from(own, ([state, found]) => {
      if (found?.length === data.length) return [state, found.slice()] as const;
      throw new EngineError(
        'checkpoint',
        `the optimizer state holds ${found?.length ?? 'no'} numbers for "${weight}.${state}", expected ${data.length}`,
      );
    });
    arrays.set(weight, Object.fromEntries(copies));
  }
  return arrays;
}

/** State of each weight, by state name. */
function byWeight(tensors: SavedOptimizer['tensors']): Map<string, Map<string, Float32Array | undefined>> {
  const weights = new Map<string, Map<string, Float32Array | undefined>>();
  for (const [name, { data }] of tensors) {
    const dot = name.lastIndexOf('.');
    const [weight, state] = [name.slice(0, dot), name.slice(dot + 1)];
    const own = weights.get(weight) ?? new Map<string, Float32Array | undefined>();
    weights.set(weight, own.set(state, data));
  }
  return weights;
}

/** Names of an optimizer's state arrays for a weight. */
export function stateNames({ state }: Optimizer, weight: WeightDescription): StateNames {
  return typeof state === 'function' ? state(weight) : state;
}

/** Its arrays for a weight; zeros before the first step. */
export function arraysOf(
  arrays: OptimizerArrays,
  weight: string,
  states: readonly string[],
  length: number,
): Record<string, Float32Array> {
  let own = arrays.get(weight);
  if (own === undefined) {
    own = Object.fromEntries(states.map((state) => [state, new Float32Array(length)]));
    arrays.set(weight, own);
  }
  return own;
}
