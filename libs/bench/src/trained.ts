import type { TrainedModel } from '@ui-rl/plugin-kit';

/** A policy with LoRA of this rank on every linear layer of the decoder. */
export function adapterOf(rank: number): TrainedModel {
  const lora = { rank, alpha: 2 * rank, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  return { name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } };
}

/** Loss and optimizer of supervised steps. */
export const SUPERVISED = { loss: { name: 'cross_entropy' }, optimizer: { name: 'adamw' } };
