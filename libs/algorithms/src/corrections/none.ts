import type { CorrectionComponent } from '@ui-rl/plugin-kit';

/** Ratios refer to the policy that sampled; nothing is recomputed. */
export const none: CorrectionComponent = {
  kind: 'correction',
  name: 'none',
  description: 'No correction: the sampling policy counts as the policy before the step.',
  create: () => null,
};
