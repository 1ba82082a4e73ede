import type { Turn } from '@ui-rl/contracts';

/** The correction that the policy read after an answer that could not be parsed; undefined after any other. */
export function correctionOf({ parseError }: Pick<Turn, 'parseError'>): string | undefined {
  // `<reason>: <correction>`
  return parseError?.replace(/^\w+: /, '');
}
