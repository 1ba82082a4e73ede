import type { ServiceSettings } from '@ui-rl/settings';

/** Settings of the machine of a learner. */
export type MachineOptions = Pick<
  ServiceSettings,
  'runsDir' | 'hub' | 'models' | 'cacheDir' | 'adaptersDir' | 'samplerKeys'
>;
