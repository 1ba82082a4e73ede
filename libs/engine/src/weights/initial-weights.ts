import { initializeLora, type FloatTensor, type LoraPlan, type ModelFolder } from '@ui-rl/models';
import { WeightSet } from './weight-set';

/** The weights training starts from: a fresh adapter that changes nothing yet, or all weights of the folder. */
export async function initialWeights(
  folder: ModelFolder,
  plan: LoraPlan | undefined,
  seed: number,
): Promise<WeightSet> {
  if (plan !== undefined) return new WeightSet(0, initializeLora(plan, seed));
  const tensors = new Map<string, FloatTensor>();
  for (const { name, shape } of folder.family.parameters()) {
    tensors.set(name, { shape: [...shape], data: await folder.weights.read(name, shape) });
  }
  return new WeightSet(0, tensors);
}
