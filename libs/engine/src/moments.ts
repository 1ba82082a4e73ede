import type { Moments } from '@ui-rl/graph';
import type { FloatTensor } from '@ui-rl/models';
import { EngineError } from './errors';
import type { WeightSet } from './weights';

/** How the optimizer's state is saved, by the names torch gives it. */
export function momentNames(weight: string): Record<keyof Moments, string> {
  return { first: `${weight}.exp_avg`, second: `${weight}.exp_avg_sq` };
}

/**
 * The moments of every weight in a saved state; none where no step was taken. Throws an `EngineError` of category `checkpoint`
 * where one is missing or has another size.
 */
export function readMoments(
  weights: WeightSet,
  state: ReadonlyMap<string, FloatTensor>,
  steps: number,
): Map<string, Moments> {
  const read = (name: string, length: number): Float32Array => {
    const found = state.get(name);
    if (found?.data.length === length) return found.data;
    throw new EngineError(
      'checkpoint',
      `the optimizer state holds ${found?.data.length ?? 'no'} numbers for "${name}", expected ${length}`,
    );
  };
  const moments = new Map<string, Moments>();
  for (const [weight, { data }] of steps === 0 ? [] : weights.tensors) {
    const names = momentNames(weight);
    moments.set(weight, { first: read(names.first, data.length), second: read(names.second, data.length) });
  }
  return moments;
}
