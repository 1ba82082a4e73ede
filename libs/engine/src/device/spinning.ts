import type { SessionOptions } from '@ui-rl/graph';

/**
 * Threads spin briefly between the many operations of a large pass, but not after the pass: up to a quarter faster.
 * Passes over few rows gain little and would take cores from other processes.
 */
export const SPIN_BRIEFLY: SessionOptions = {
  spinning: true,
  config: { 'session.intra_op.spin_duration_us': '300', 'session.force_spinning_stop': '1' },
};
