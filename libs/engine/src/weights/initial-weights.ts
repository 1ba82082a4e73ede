import {
  initializeLora,
  initializeValueHead,
  type FloatTensor,
  type LoraPlan,
  type ModelFolder,
} from '@ui-rl/models';
import type { LossModel } from '@ui-rl/plugin-kit';
import { WeightSet } from './weight-set';

/**
 * The weights from which training starts: a fresh zero adapter, for a critic with a head; or all weights of the
 * folder.
 */
export async function initialWeights(
  { family, weights }: ModelFolder,
  plan: LoraPlan | undefined,
  seed: number,
  role: LossModel = 'policy',
): Promise<WeightSet> {
  if (plan !== undefined) {
    const head = role === 'critic' ? initializeValueHead(family.shape) : [];
    return new WeightSet(0, new Map([...initializeLora(plan, seed), ...head]));
  }
  const tensors = new Map<string, FloatTensor>();
  for (const { name, shape } of family.parameters()) {
    tensors.set(name, { shape: [...shape], data: await weights.read(name, shape) });
  }
  return new WeightSet(0, tensors);
}
