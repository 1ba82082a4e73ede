import type { Random } from '@ui-rl/random';
import { expand } from './grammar';

/** Which wordings and names are used: those of training, or those that only evaluations see. */
export type Split = 'training' | 'held-out';

/** Templates of one meaning. An evaluation of unseen wordings uses `heldOut`; nothing else does. */
export interface Phrases {
  training: readonly string[];
  heldOut: readonly string[];
}

/** Every phrase book made, for the tests of their texts. */
export const ALL_PHRASES: Phrases[] = [];

export function phrases(training: readonly string[], heldOut: readonly string[]): Phrases {
  const made = { training, heldOut };
  ALL_PHRASES.push(made);
  return made;
}

/** A wording of a meaning with its slots filled. */
export function say(
  { training, heldOut }: Phrases,
  slots: Readonly<Record<string, string>>,
  random: Random,
  split: Split,
): string {
  const templates = split === 'held-out' && heldOut.length > 0 ? heldOut : training;
  return expand(random.pick(templates), slots, random);
}
