import type { ScreenView } from '../screen/view';
import type { TruthElement } from '@ui-rl/page-generator';
import { isSayable } from '../wording/mention';
import { nounsOf, type Noun } from '../wording/nouns';
import type { Phrases } from '../wording/phrases';
import * as wording from '../wording/references';
import { hasOwnName, hasOwnNameAmong, isWritten, nounSlots, ofNoun, type Reference } from './reference';

const CHOICES = ['checkbox', 'radio', 'toggle'];
const FIELDS = ['text field', 'password field', 'text area', 'spin button', 'select', 'slider', 'stepper'];

export function byName(element: TruthElement, view: ScreenView): Reference[] {
  if (!hasOwnName(element, view)) return [];
  return [{ element, how: 'name', phrases: wording.NAME, names: { name: element.name }, words: {} }];
}

export function byNounAndName(element: TruthElement, view: ScreenView): Reference[] {
  return nounsOf(element.kind)
    .filter((noun) => hasOwnNameAmong(element, noun, view))
    .map((noun) => ({
      element,
      how: 'kind and name',
      phrases: nounPhrases(element),
      names: { name: element.name },
      words: nounSlots(noun),
    }));
}

function nounPhrases({ kind }: TruthElement): Phrases {
  if (CHOICES.includes(kind)) return wording.CHOICE_AND_NAME;
  return FIELDS.includes(kind) ? wording.FIELD_AND_NAME : wording.NOUN_AND_NAME;
}

/** By its kind, if it is the only one. */
export function byNoun(element: TruthElement, view: ScreenView): Reference[] {
  return nounsOf(element.kind)
    .filter((noun) => ofNoun(noun, view).length === 1)
    .map((noun) => ({
      element,
      how: 'only of its kind',
      phrases: wording.ONLY_NOUN,
      names: {},
      words: nounSlots(noun),
    }));
}

/** By the text of its label. */
export function byLabel(element: TruthElement, view: ScreenView): Reference[] {
  const label = view.get(element.label);
  if (label === undefined || !isWritten(label, view)) return [];
  const twins = view.named(label.name).filter(({ kind }) => kind === label.kind);
  if (twins.length > 1) return [];
  return nounsOf(element.kind)
    .filter((noun) => hasOwnNameAmong(element, noun, view))
    .map((noun) => ({
      element,
      how: 'label',
      phrases: wording.LABEL,
      names: { name: label.name },
      words: nounSlots(noun),
    }));
}

export function byIcon(element: TruthElement, view: ScreenView): Reference[] {
  const icon = element.attributes?.icon;
  if (icon === undefined || !isSayable(icon)) return [];
  const twins = view.elements.filter(
    (other) =>
      other.attributes?.icon === icon && !view.isInside(element, other) && !view.isInside(other, element),
  );
  const isWritten = view.named(icon).some((other) => other.attributes?.icon !== icon);
  if (twins.length > 1 || isWritten) return [];
  return [{ element, how: 'icon', phrases: wording.ICON, names: { name: icon }, words: {} }];
}

const CONTAINERS: Partial<Record<string, readonly string[]>> = {
  dialog: ['dialog', 'popup', 'window', 'dialog box'],
  menu: ['menu', 'open menu'],
  table: ['table'],
  list: ['list'],
};

/**
 * By its name and the dialog, menu, table or list that contains it, if the name also occurs elsewhere on the screen.
 */
export function byContainer(element: TruthElement, view: ScreenView): Reference[] {
  if (!isWritten(element, view)) return [];
  return view.ancestors(element).flatMap((container) => {
    const words = CONTAINERS[container.kind];
    const isOnly = view.elements.filter(({ kind }) => kind === container.kind).length === 1;
    if (words === undefined || !isOnly) return [];
    const same = view.same(element);
    const rivals = view
      .named(element.name)
      .filter(
        (other) => !same.includes(other) && view.isInside(other, container) && !view.isInside(other, element),
      );
    if (rivals.length > 0) return [];
    return nounsOf(element.kind).map((noun): Reference => ({
      element,
      how: 'inside',
      phrases: wording.INSIDE,
      names: { name: element.name },
      words: { ...nounSlots(noun), container: words },
    }));
  });
}

/** The close button of the only dialog. */
export function byClosing(element: TruthElement, view: ScreenView): Reference[] {
  if (element.kind !== 'close button') return [];
  const dialogs = view.elements.filter(({ kind }) => kind === 'dialog');
  const rivals = view.elements.filter(({ kind }) => kind === 'close button');
  if (dialogs.length !== 1 || rivals.length !== 1) return [];
  const words: Record<string, Noun['words']> = { container: CONTAINERS.dialog! };
  return [{ element, how: 'close', phrases: wording.CLOSE_OF, names: {}, words }];
}
