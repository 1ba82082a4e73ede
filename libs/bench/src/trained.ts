import type { TrainedModel } from '@ui-rl/plugin-kit';

/** A policy with an adapter of that rank on every linear layer of the decoder. */
export function adapterOf(rank: number): TrainedModel {
  const lora = { rank, alpha: 2 * rank, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  return { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } };
}

/** What a supervised step is measured with. */
export const SUPERVISED = { loss: { name: 'cross_entropy' }, optimizer: { name: 'adamw' } };
