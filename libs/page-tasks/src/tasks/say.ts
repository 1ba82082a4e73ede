import type { PagePart, TruthElement, WidgetKind } from '@ui-rl/page-generator';
import { clickOrder } from '../questions/point';
import { refer, usualReference } from '../references';
import { isWritten } from '../references/reference';
import { mayName, mention } from '../wording/mention';
import { say, type Phrases } from '../wording/phrases';
import { clicked } from './subgoals';
import type { PageState, Part, Situation } from './task';

/** Parts of a page of a kind whose main element is visible and can be named. */
export function partsOf(situation: Situation, kind: WidgetKind): PagePart[] {
  const { page, view } = situation;
  return page.parts.filter((part) => part.kind === kind && isNameable(situation, view.get(part.id)));
}

/** Whether an unambiguous reference to the element exists. */
export function isNameable({ view, random, split }: Situation, element: TruthElement | undefined): boolean {
  return (
    element !== undefined &&
    element.state.disabled !== true &&
    usualReference(element, view, random, split) !== undefined
  );
}

/** The usual reference to a nameable element, sampled anew. */
export function named({ view, random, split }: Situation, element: TruthElement): string {
  return refer(usualReference(element, view, random, split)!, random, split);
}

/** An instruction for one element. */
export function orderOn(
  situation: Situation,
  phrases: Phrases,
  element: TruthElement,
  slots: () => Record<string, string> = () => ({}),
): () => string {
  const { random, split } = situation;
  return () => say(phrases, { target: named(situation, element), ...slots() }, random, split);
}

/** Items with names that the split allows, possibly reworded. */
export function sayable<T extends { name: string }>({ split }: Situation, items: readonly T[]): T[] {
  const names = items.map(({ name }) => name.toLowerCase());
  return items.filter(
    ({ name }, i) => mayName(name, split) && names.indexOf(names[i]) === names.lastIndexOf(names[i]),
  );
}

/** Elements of some kinds whose names are on the screen once. */
export function writtenElements(situation: Situation, kinds: readonly string[]): TruthElement[] {
  const { view } = situation;
  return view.elements.filter(
    (element) => kinds.includes(element.kind) && isWritten(element, view) && isNameable(situation, element),
  );
}

export const happened = (id: number, event: string) => (state: PageState) =>
  state.events.some((each) => each.id === id && each.event === event);

/** A final click. */
export function clickPart(situation: Situation, element: TruthElement): Part {
  const { view, random, split } = situation;
  return {
    order: () => clickOrder(element, view, random, split)!,
    subgoals: [clicked(element.id)],
    endsByClick: true,
    isDone: happened(element.id, 'click'),
  };
}

/** A click on a button of the page that ends a task; undefined if there is none. */
export function submitPart(situation: Situation): Part | undefined {
  const buttons = writtenElements(situation, ['button']).filter(({ parent }) => parent === undefined);
  return buttons.length === 0 ? undefined : clickPart(situation, situation.random.pick(buttons));
}

/** Parts with a final click on a button, or sometimes without. */
export function maybeSubmitted(situation: Situation, parts: Part[]): Part[] {
  const submit = situation.random.chance(0.6) ? submitPart(situation) : undefined;
  return submit === undefined ? parts : [...parts, submit];
}

export function mentioned({ random }: Situation, name: string): string {
  return mention(name, random);
}
