import type { TrainedModel } from '@ui-rl/plugin-kit';
import type { ModelGroup } from './run-file';

/** The trained part of a run's model, in the engine's form. */
export function trainableOf({ use_lora, lora }: ModelGroup): TrainedModel['trainable'] {
  if (!use_lora) return { mode: 'full' };
  const { use_rslora: rslora, ...rest } = lora;
  return { mode: 'lora', lora: { ...rest, rslora } };
}
