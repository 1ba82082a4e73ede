import type { AlgorithmOptions } from '../src/training/algorithm';

/** PPO with a critic, replacing the same options of another algorithm. */
export const WITH_CRITIC = {
  advantage: { name: 'gae' },
  loss: { name: 'ppo' },
  critic: {
    lora: { rank: 2, alpha: 4, targets: 'attention', dropout: 0, vision: false, rslora: false },
    loss: { name: 'value', value_clip: 0 },
    optimizer: { name: 'adamw' },
    learningRate: 1e-2,
    maxGradNorm: 1,
    warmupSteps: 0,
  },
} satisfies Partial<AlgorithmOptions>;

/** The same as values by option path. */
export const CRITIC_CHANGES = {
  'algorithm.advantage': WITH_CRITIC.advantage,
  'algorithm.loss': WITH_CRITIC.loss,
  'critic.lora': { rank: 2, alpha: 4, targets: 'attention' },
  'critic.loss': WITH_CRITIC.critic.loss,
  'critic.learning_rate': WITH_CRITIC.critic.learningRate,
};
