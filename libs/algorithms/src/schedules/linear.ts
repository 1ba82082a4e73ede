import type { ScheduleComponent } from '@ui-rl/plugin-kit';
import { decaying, DecayOptions } from './warmup';

export const linear: ScheduleComponent<DecayOptions> = {
  kind: 'schedule',
  name: 'linear',
  description: 'Falls along a line until training.max_steps.',
  options: DecayOptions,
  create: (options, context) => decaying('linear', options, context, (progress) => 1 - progress),
};
