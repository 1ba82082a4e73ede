import type { Random } from '@ui-rl/random';
import type { ScreenView } from '../screen/view';
import type { TruthElement } from '@ui-rl/page-generator';
import type { Split } from '../wording/phrases';
import { byExtent, byLooks, byState, byValue } from './by-looks';
import { byClosing, byContainer, byIcon, byLabel, byName, byNoun, byNounAndName } from './by-name';
import { byCell, byColumn, byHeading, byNeighbour, byOrder, byRow } from './by-place';
import { mayRefer, type How, type Reference } from './reference';

export { HOWS, refer, type How, type Reference } from './reference';

const SELECTORS: Readonly<Record<How, (element: TruthElement, view: ScreenView) => Reference[]>> = {
  name: byName,
  'kind and name': byNounAndName,
  'only of its kind': byNoun,
  label: byLabel,
  icon: byIcon,
  looks: byLooks,
  place: byOrder,
  beside: byNeighbour,
  row: byRow,
  column: byColumn,
  cell: byCell,
  heading: byHeading,
  inside: byContainer,
  value: byValue,
  state: byState,
  extreme: byExtent,
  close: byClosing,
};

/**
 * A reference to an element of the given kind; undefined if none is unambiguous, or if too little of the element is
 * visible.
 */
export function referenceBy(
  how: How,
  element: TruthElement,
  view: ScreenView,
  random: Random,
  split: Split,
): Reference | undefined {
  if (!view.elements.includes(element)) return undefined;
  const found = SELECTORS[how](element, view).filter((reference) => mayRefer(reference, split));
  return found.length === 0 ? undefined : random.pick(found);
}

/** The usual reference to an element: by its written name, with or without its kind. */
export function usualReference(
  element: TruthElement,
  view: ScreenView,
  random: Random,
  split: Split,
): Reference | undefined {
  const manners: How[] = random.chance(0.5) ? ['name', 'kind and name'] : ['kind and name', 'name'];
  for (const how of [...manners, 'icon', 'only of its kind', 'looks', 'label'] as const) {
    const reference = referenceBy(how, element, view, random, split);
    if (reference !== undefined) return reference;
  }
  return undefined;
}
