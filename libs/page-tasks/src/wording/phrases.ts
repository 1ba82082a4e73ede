import type { Random } from '@ui-rl/random';
import { expand } from './grammar';

/** Selects wordings and names: those for training, or those reserved for evaluation. */
export type Split = 'training' | 'held-out';

/** Templates with one meaning. Only evaluations of unseen wordings use `heldOut`. */
export interface Phrases {
  training: readonly string[];
  heldOut: readonly string[];
}

/** All phrase sets, for tests of their texts. */
export const ALL_PHRASES: Phrases[] = [];

export function phrases(training: readonly string[], heldOut: readonly string[]): Phrases {
  const made = { training, heldOut };
  ALL_PHRASES.push(made);
  return made;
}

/** A wording with its slots filled. */
export function say(
  { training, heldOut }: Phrases,
  slots: Readonly<Record<string, string>>,
  random: Random,
  split: Split,
): string {
  const templates = split === 'held-out' && heldOut.length > 0 ? heldOut : training;
  return expand(random.pick(templates), slots, random);
}
