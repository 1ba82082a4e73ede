import type { SessionOptions } from '@ui-rl/graph';

/**
 * Between the many operations of a large pass a thread waits for the next one awake, but not for long, and not after the
 * pass: up to a quarter faster. Passes over few rows gain little from it, and would take the core from other processes.
 */
export const SPIN_BRIEFLY: SessionOptions = {
  spinning: true,
  config: { 'session.intra_op.spin_duration_us': '300', 'session.force_spinning_stop': '1' },
};
