import type { Random } from '@ui-rl/random';
import type { ScreenView } from '../screen/view';
import type { TruthElement } from '@ui-rl/page-generator';
import { isHeldOutName, isSayable, mention } from '../wording/mention';
import type { Noun } from '../wording/nouns';
import { marked } from '../wording/provenance';
import { say, type Phrases, type Split } from '../wording/phrases';

/** Kinds of reference to an element. */
export const HOWS = [
  'name',
  'kind and name',
  'only of its kind',
  'label',
  'icon',
  'looks',
  'place',
  'beside',
  'row',
  'column',
  'cell',
  'heading',
  'inside',
  'value',
  'state',
  'extreme',
  'close',
] as const;
export type How = (typeof HOWS)[number];

/** One unambiguous reference to an element. */
export interface Reference {
  element: TruthElement;
  how: How;
  phrases: Phrases;
  /** Names shown on the screen, by slot; sometimes in different case or in quotes. */
  names: Readonly<Record<string, string>>;
  /** Words by slot; one of several is chosen. */
  words: Readonly<Record<string, readonly string[]>>;
}

/** The reference as part of a goal: `the "Save" button`. */
export function refer({ phrases, names, words }: Reference, random: Random, split: Split): string {
  const slots: Record<string, string> = {};
  for (const [slot, name] of Object.entries(names)) slots[slot] = mention(name, random);
  for (const [slot, options] of Object.entries(words)) slots[slot] = worded(slot, usual(options, random));
  return say(phrases, slots, random, split);
}

/**
 * Words for kinds belong to the sentence; values that select an element, such as a color or a number, are marked as
 * names.
 */
function worded(slot: string, word: string): string {
  return ['noun', 'nouns', 'container'].includes(slot) ? word : marked(word);
}

/** Prefers the first word, which is the usual one. */
function usual(words: readonly string[], random: Random): string {
  return random.chance(0.4) ? words[0] : random.pick(words);
}

/** Whether a split allows all names of a reference. */
export function mayRefer({ names }: Reference, split: Split): boolean {
  return Object.values(names).every((name) => split === 'held-out' || !isHeldOutName(name));
}

/** Kinds whose names are not written on them. */
const PICTURES = ['icon', 'shape', 'image'];

/** Whether the element's name is completely visible, and can be used in a goal. */
export function isWritten(element: TruthElement, view: ScreenView): boolean {
  return !PICTURES.includes(element.kind) && isSayable(element.name) && view.shows(element, element.name);
}

/** Whether the name identifies the element. */
export function hasOwnName(element: TruthElement, view: ScreenView): boolean {
  if (!isWritten(element, view)) return false;
  const same = view.same(element);
  return view.named(element.name).every((other) => same.includes(other) || view.isInside(other, element));
}

/** Whether a noun and the name identify the element. */
export function hasOwnNameAmong(element: TruthElement, noun: Noun, view: ScreenView): boolean {
  if (!isWritten(element, view)) return false;
  const rivals = view.named(element.name).filter(({ kind }) => noun.kinds.includes(kind));
  return rivals.every((other) => other === element || view.isInside(other, element));
}

/** Elements usable as anchors: their names are on the screen once. */
export function anchors(view: ScreenView): readonly TruthElement[] {
  return view.all('anchors', (element) => hasOwnName(element, view));
}

export function ofNoun({ words, kinds }: Noun, view: ScreenView): readonly TruthElement[] {
  return view.all(words[0], ({ kind }) => kinds.includes(kind));
}

/** The slots of a noun: singular and plural. */
export function nounSlots({ words }: Noun): { noun: readonly string[]; nouns: readonly string[] } {
  return { noun: words, nouns: words.map(plural) };
}

function plural(word: string): string {
  if (word.includes(' of ')) return word.replace(/^(\w+)/, '$1s');
  if (word.endsWith('y') && !/[aeo]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:x|ch|sh|s)$/.test(word) ? `${word}es` : `${word}s`;
}
