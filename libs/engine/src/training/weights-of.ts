import { loadAdapter, type Family } from '@ui-rl/models';
import type { TrainedModel } from '@ui-rl/plugin-kit';

/** The weights of a model that is not trained: its own, or those of an adapter folder in addition. */
export async function weightsOf(
  family: Family,
  adapterDir: string | undefined,
): Promise<TrainedModel['trainable']> {
  if (adapterDir === undefined) return { mode: 'frozen' };
  const { plan } = await loadAdapter(adapterDir, family);
  const { vision = false, rslora = false, ...config } = plan.config;
  return { mode: 'lora', lora: { ...config, vision, rslora }, adapterDir };
}
