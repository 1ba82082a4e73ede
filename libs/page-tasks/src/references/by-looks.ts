import type { ScreenView } from '../screen/view';
import type { TruthElement } from '@ui-rl/page-generator';
import { isSayable } from '../wording/mention';
import { nounsOf, type Noun } from '../wording/nouns';
import * as wording from '../wording/references';
import { nounSlots, ofNoun, type Reference } from './reference';

type Trait = 'color' | 'size' | 'shape';

/** Combinations of traits, in English adjective order. */
const COMBINATIONS: readonly (readonly Trait[])[] = [
  ['color'],
  ['shape'],
  ['size'],
  ['color', 'shape'],
  ['size', 'shape'],
  ['size', 'color'],
  ['size', 'color', 'shape'],
];

/** By color, size and shape, if all elements of its kind have them. */
export function byLooks(element: TruthElement, view: ScreenView): Reference[] {
  return nounsOf(element.kind).flatMap((noun) =>
    COMBINATIONS.filter((traits) => isAlone(element, traits, ofNoun(noun, view))).map((traits): Reference => {
      return {
        element,
        how: 'looks',
        phrases: wording.LOOKS,
        names: {},
        words: { looks: looksOf(element, traits, noun) },
      };
    }),
  );
}

function isAlone(element: TruthElement, traits: readonly Trait[], all: readonly TruthElement[]): boolean {
  if (all.some(({ attributes }) => traits.some((trait) => attributes?.[trait] === undefined))) return false;
  return all.every(
    (other) =>
      other === element || traits.some((trait) => other.attributes![trait] !== element.attributes![trait]),
  );
}

function looksOf({ attributes }: TruthElement, traits: readonly Trait[], noun: Noun): string[] {
  const adjectives = traits.filter((trait) => trait !== 'shape').map((trait) => attributes![trait]);
  const nouns = traits.includes('shape') ? [attributes!.shape!] : noun.words;
  return nouns.map((word) => [...adjectives, word].join(' '));
}

const STATES: readonly { words: readonly string[]; isIn: (element: TruthElement) => boolean }[] = [
  {
    words: ['checked', 'ticked', 'already checked'],
    isIn: ({ kind, state }) => kind === 'checkbox' && state.checked === true,
  },
  {
    words: ['unchecked', 'unticked', 'empty', 'not checked'],
    isIn: ({ kind, state }) => kind === 'checkbox' && state.checked !== true,
  },
  {
    words: ['chosen', 'selected', 'marked'],
    isIn: ({ kind, state }) => kind === 'radio' && state.checked === true,
  },
  {
    words: ['turned on', 'switched on', 'on'],
    isIn: ({ kind, state }) => kind === 'toggle' && state.checked === true,
  },
  {
    words: ['turned off', 'switched off', 'off'],
    isIn: ({ kind, state }) => kind === 'toggle' && state.checked !== true,
  },
  {
    words: ['active', 'selected', 'current', 'open'],
    isIn: ({ kind, state }) => kind === 'tab' && state.selected === true,
  },
  {
    words: ['disabled', 'greyed out', 'inactive'],
    isIn: ({ kind, state }) => kind === 'button' && state.disabled === true,
  },
  { words: ['focused', 'in focus', 'active'], isIn: ({ state }) => state.focused === true },
  {
    words: ['open', 'expanded', 'unfolded'],
    isIn: ({ kind, state }) => kind === 'accordion' && state.expanded === true,
  },
  {
    words: ['closed', 'collapsed', 'folded'],
    isIn: ({ kind, state }) => kind === 'accordion' && state.expanded === false,
  },
];

/** By a state that no other element of its kind has. */
export function byState(element: TruthElement, view: ScreenView): Reference[] {
  return nounsOf(element.kind).flatMap((noun) => {
    const all = ofNoun(noun, view);
    if (all.length < 2) return [];
    return STATES.filter(({ isIn }) => isIn(element) && all.filter(isIn).length === 1).map(
      ({ words }): Reference => ({
        element,
        how: 'state',
        phrases: wording.IN_STATE,
        names: {},
        words: { ...nounSlots(noun), state: words },
      }),
    );
  });
}

/** By the text in a field, if it is on the screen once. */
export function byValue(element: TruthElement, view: ScreenView): Reference[] {
  const { value, kind } = element;
  if (value === undefined || !isSayable(value) || !view.shows(element, value)) return [];
  const holders = view.elements.filter((other) => other.value === value);
  if (holders.length > 1 || view.named(value).length > 0) return [];
  return nounsOf(kind).map((noun) => ({
    element,
    how: 'value',
    phrases: wording.WITH_VALUE,
    names: { value },
    words: nounSlots(noun),
  }));
}

const LEAST_DIFFERENCE = 3;

/** The tallest or shortest vertical bar, or the longest or shortest horizontal one. */
export function byExtent(element: TruthElement, view: ScreenView): Reference[] {
  if (element.kind !== 'bar') return [];
  const bars = view.elements.filter(({ kind }) => kind === 'bar');
  const isUpright = new Set(bars.map(({ box }) => Math.round(box[2] / 2))).size === 1;
  const extent = ({ box }: TruthElement) => (isUpright ? box[3] : box[2]);
  const others = bars.filter((bar) => bar !== element).map(extent);
  if (others.length < 2 || new Set(bars.map(({ parent }) => parent)).size > 1) return [];
  const isMost = extent(element) >= Math.max(...others) + LEAST_DIFFERENCE;
  const isLeast = extent(element) <= Math.min(...others) - LEAST_DIFFERENCE;
  if (!isMost && !isLeast) return [];
  const most = isUpright ? ['tallest', 'highest', 'largest'] : ['longest', 'largest', 'widest'];
  const least = isUpright ? ['shortest', 'lowest', 'smallest'] : ['shortest', 'smallest'];
  const words = { noun: ['bar'], nouns: ['bars'], extreme: isMost ? most : least };
  return [{ element, how: 'extreme', phrases: wording.EXTREME, names: {}, words }];
}
