import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile, type RunFile } from '@ui-rl/settings';

/** Values by option path. */
export type Changes = Readonly<Record<string, unknown>>;

/** PPO with a critic, replacing the same options of another algorithm. */
export const WITH_CRITIC: Changes = {
  'algorithm.advantage': 'gae',
  'algorithm.loss': 'ppo',
  'critic.lora': { rank: 2, alpha: 4, targets: 'attention' },
  'critic.loss': { name: 'value', value_clip: 0 },
  'critic.learning_rate': 1e-2,
};

/** A run file with these options. */
export function optionsWith(components: ComponentRegistry, changes: Changes): RunFile {
  const assumed = { 'model.name': 'fixture', tasks: 'demo_training', ...changes };
  return readRunFile({ assumed, models: ['fixture'] }, components);
}
