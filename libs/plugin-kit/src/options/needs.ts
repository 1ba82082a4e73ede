import type { NeedsNote } from './types';

/** Whether an option has an effect in combination with the others of its class. */
export function isNeedMet(
  { option, value }: NeedsNote,
  siblings: Readonly<Record<string, unknown>>,
): boolean {
  const found = siblings[option] ?? undefined;
  return value === undefined ? found !== undefined : found === value;
}

/** Describes an option's precondition: `algorithm.loss_aggregation constant`. @param path of the other option */
export function needInWords({ value }: NeedsNote, path: string): string {
  return value === undefined ? path : `${path} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
}
