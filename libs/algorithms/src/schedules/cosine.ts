import type { ScheduleComponent } from '@ui-rl/plugin-kit';
import { decaying, DecayOptions } from './warmup';

export const cosine: ScheduleComponent<DecayOptions> = {
  kind: 'schedule',
  name: 'cosine',
  description: 'Cosine decay until training.max_steps.',
  options: DecayOptions,
  create: (options, context) =>
    decaying('cosine', options, context, (progress) => (1 + Math.cos(Math.PI * progress)) / 2),
};
