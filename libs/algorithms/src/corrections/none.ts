import type { CorrectionComponent } from '@ui-rl/plugin-kit';

/** Ratios refer to the policy that sampled; nothing is recomputed. */
export const none: CorrectionComponent = {
  kind: 'correction',
  name: 'none',
  description: 'The policy that sampled counts as the one before the step.',
  create: () => null,
};
