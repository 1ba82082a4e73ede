import type { AttentionKind } from '@ui-rl/models';

/** Sequences and images of more places than this would take gigabytes for all their scores. */
const LONG = 2048;

/** How attention over so many places (tokens of a row, patches of an image) is computed. */
export function attentionFor(places: number): AttentionKind {
  return places > LONG ? 'blocks' : 'whole';
}
