import type { AttentionKind } from '@ui-rl/models';

/** Beyond this many positions, the full score matrix would take gigabytes. */
const LONG = 2048;

/** The attention algorithm for this many positions (tokens of a row, patches of an image). */
export function attentionFor(places: number): AttentionKind {
  return places > LONG ? 'blocks' : 'whole';
}
