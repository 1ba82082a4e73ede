import type { ScheduleComponent } from '@ui-rl/plugin-kit';
import { warmedUp, WarmupOptions } from './warmup';

export const constant: ScheduleComponent<WarmupOptions> = {
  kind: 'schedule',
  name: 'constant',
  description: 'A constant learning rate after warm-up.',
  options: WarmupOptions,
  create: (options) => warmedUp(options, () => 1),
};
