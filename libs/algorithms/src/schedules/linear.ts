import type { ScheduleComponent } from '@ui-rl/plugin-kit';
import { decaying, DecayOptions } from './warmup';

export const linear: ScheduleComponent<DecayOptions> = {
  kind: 'schedule',
  name: 'linear',
  description: 'Linear decay until training.max_steps.',
  options: DecayOptions,
  create: (options, context) => decaying('linear', options, context, (progress) => 1 - progress),
};
