import { gap, isAligned, sharedHeight, sharedWidth, type Side } from '../screen/boxes';
import type { ScreenView } from '../screen/view';
import type { TruthElement } from '@ui-rl/page-generator';
import { isSayable } from '../wording/mention';
import { nounsOf, type Noun } from '../wording/nouns';
import type { Phrases } from '../wording/phrases';
import * as wording from '../wording/references';
import { anchors, isWritten, nounSlots, ofNoun, type Reference } from './reference';

export const ORDINALS = [
  ['first', '1st'],
  ['second', '2nd'],
  ['third', '3rd'],
  ['fourth', '4th'],
  ['fifth', '5th'],
  ['sixth', '6th'],
  ['seventh', '7th'],
  ['eighth', '8th'],
  ['ninth', '9th'],
  ['tenth', '10th'],
] as const;

/** Whether all elements form one column or one row; otherwise their order is ambiguous. */
function lineOf(elements: readonly TruthElement[]): 'column' | 'row' | undefined {
  const all = (isOrdered: (a: TruthElement, b: TruthElement) => boolean) =>
    elements.every((a, i) => elements.slice(i + 1).every((b) => isOrdered(a, b)));
  if (all((a, b) => sharedWidth(a.box, b.box) >= 0.5 && sharedHeight(a.box, b.box) <= 0.1)) return 'column';
  if (all((a, b) => sharedHeight(a.box, b.box) >= 0.5 && sharedWidth(a.box, b.box) <= 0.1)) return 'row';
  return undefined;
}

/** Second checkbox, last button: if all elements of the kind are visible and form one line. */
export function byOrder(element: TruthElement, view: ScreenView): Reference[] {
  return nounsOf(element.kind).flatMap((noun) => {
    const all = ofNoun(noun, view);
    if (all.length < 2 || all.length > ORDINALS.length) return [];
    if (all.some((each) => view.ancestors(each).some(({ kind }) => kind === 'scroll container'))) return [];
    const line = lineOf(all);
    if (line === undefined) return [];
    const axis = line === 'column' ? 1 : 0;
    const place = all.toSorted((a, b) => a.box[axis] - b.box[axis]).indexOf(element);
    return placePhrases(place, all.length, line).map((phrases) => placed(element, noun, phrases, place));
  });
}

function placePhrases(place: number, count: number, line: 'column' | 'row'): Phrases[] {
  const isColumn = line === 'column';
  const found = [isColumn ? wording.PLACE_IN_COLUMN : wording.PLACE_IN_ROW];
  if (place === 0) found.push(isColumn ? wording.TOP : wording.LEFTMOST);
  if (place === count - 1) found.push(isColumn ? wording.BOTTOM : wording.RIGHTMOST);
  if (count === 3 && place === 1) found.push(wording.MIDDLE);
  return found;
}

function placed(element: TruthElement, noun: Noun, phrases: Phrases, place: number): Reference {
  const words = { ...nounSlots(noun), ordinal: ORDINALS[place], number: [`${place + 1}`] };
  return { element, how: 'place', phrases, names: {}, words };
}

const SIDES: Readonly<Record<Side, Phrases>> = {
  left: wording.LEFT_OF,
  right: wording.RIGHT_OF,
  above: wording.ABOVE,
  below: wording.BELOW,
};
const FARTHEST = 60;

/** Left of, right of, above or below an element that its name identifies. */
export function byNeighbour(element: TruthElement, view: ScreenView): Reference[] {
  const same = view.same(element);
  const near = anchors(view).filter(
    (anchor) => !same.includes(anchor) && !view.isInside(anchor, element) && !view.isInside(element, anchor),
  );
  return nounsOf(element.kind).flatMap((noun) => {
    const all = ofNoun(noun, view);
    return near.flatMap((anchor) =>
      (Object.keys(SIDES) as Side[])
        .filter((side) => isNearest(element, anchor, side, all))
        .map((side): Reference => ({
          element,
          how: 'beside',
          phrases: SIDES[side],
          names: { anchor: anchor.name },
          words: nounSlots(noun),
        })),
    );
  });
}

/** Whether it is aligned with the anchor on that side, near, and clearly nearer than others of the noun. */
function isNearest(
  element: TruthElement,
  { box: anchor, id }: TruthElement,
  side: Side,
  all: readonly TruthElement[],
): boolean {
  const distance = gap(anchor, element.box, side);
  if (!isAligned(anchor, element.box, side) || distance > FARTHEST) return false;
  return all.every((other) => {
    if (other === element || other.id === id) return true;
    const itsDistance = gap(anchor, other.box, side);
    return itsDistance < -1 || itsDistance > distance + 4;
  });
}

/** The table or grid of an element, with its row and column. */
interface TablePlace {
  table: TruthElement | undefined;
  row: number | undefined;
  column: number | undefined;
}

function tablePlace(element: TruthElement, view: ScreenView): TablePlace {
  const around = [element, ...view.ancestors(element)];
  return {
    table: around.slice(1).find(({ kind }) => kind === 'table' || kind === 'group' || kind === 'list'),
    row: around.find(({ row }) => row !== undefined)?.row,
    column: around.find(({ column }) => column !== undefined)?.column,
  };
}

/** By a text in the same row of a table that is on the screen once. */
export function byRow(element: TruthElement, view: ScreenView): Reference[] {
  const { table, row } = tablePlace(element, view);
  if (table === undefined || row === undefined || element.kind === 'table row') return [];
  const inRow = (other: TruthElement) => {
    const place = tablePlace(other, view);
    return place.table === table && place.row === row;
  };
  const keys = anchors(view).filter(
    (anchor) =>
      anchor.kind === 'table cell' && anchor !== element && inRow(anchor) && !view.isInside(element, anchor),
  );
  if (keys.length === 0) return [];
  const mates = view.elements.filter((other) => inRow(other) && !view.isInside(other, element));
  return keys.flatMap((key) => [...inRowByNoun(element, key, mates), ...inRowByName(element, key, mates)]);
}

function inRowByNoun(element: TruthElement, key: TruthElement, mates: readonly TruthElement[]): Reference[] {
  return nounsOf(element.kind)
    .filter(({ kinds }) => mates.filter(({ kind }) => kinds.includes(kind)).length === 1)
    .map((noun) => ({
      element,
      how: 'row',
      phrases: wording.IN_ROW,
      names: { anchor: key.name },
      words: nounSlots(noun),
    }));
}

function inRowByName(element: TruthElement, key: TruthElement, mates: readonly TruthElement[]): Reference[] {
  if (!isSayable(element.name) || !element.interactive) return [];
  if (mates.filter(({ name }) => name === element.name).length !== 1) return [];
  const names = { name: element.name, anchor: key.name };
  return [{ element, how: 'row', phrases: wording.NAME_IN_ROW, names, words: {} }];
}

/** A cell by the header of its column and a text of its row. */
export function byColumn(element: TruthElement, view: ScreenView): Reference[] {
  if (element.kind !== 'table cell') return [];
  const { table, row, column } = tablePlace(element, view);
  const header = view.elements.find((other) => {
    const place = tablePlace(other, view);
    return other.kind === 'column header' && place.table === table && place.column === column;
  });
  if (table === undefined || header === undefined || !isWritten(header, view)) return [];
  if (view.named(header.name).length > 1) return [];
  const keys = anchors(view).filter((anchor) => {
    const place = tablePlace(anchor, view);
    return anchor.kind === 'table cell' && anchor !== element && place.table === table && place.row === row;
  });
  return keys.slice(0, 1).map((key) => ({
    element,
    how: 'column',
    phrases: wording.IN_COLUMN,
    names: { row: key.name, column: header.name },
    words: {},
  }));
}

/** A cell of a grid by its row and column numbers. */
export function byCell(element: TruthElement, view: ScreenView): Reference[] {
  const { row, column, kind } = element;
  if (kind !== 'grid cell' || row === undefined || column === undefined) return [];
  if (row >= ORDINALS.length || column >= ORDINALS.length) return [];
  const twins = view.elements.filter(
    (other) => other.kind === kind && other.row === row && other.column === column,
  );
  if (twins.length > 1) return [];
  const words = {
    noun: ['cell', 'square', 'grid cell'],
    row: [`${row + 1}`],
    column: [`${column + 1}`],
    rowth: ORDINALS[row],
    columnth: ORDINALS[column],
  };
  return [{ element, how: 'cell', phrases: wording.CELL, names: {}, words }];
}

/** By the heading above it. */
export function byHeading(element: TruthElement, view: ScreenView): Reference[] {
  const { under, kind, name } = element;
  if (under === undefined || !isSayable(under)) return [];
  if (view.elements.filter((other) => other.kind === 'heading' && other.name === under).length !== 1)
    return [];
  const mates = view.elements.filter((other) => other.under === under);
  const same = view.same(element);
  const isOnlyName = mates.every(
    (other) => other.name !== name || same.includes(other) || view.isInside(other, element),
  );
  const references: Reference[] = nounsOf(kind)
    .filter(({ kinds }) => mates.filter((other) => kinds.includes(other.kind)).length === 1)
    .map((noun) => ({
      element,
      how: 'heading',
      phrases: wording.NOUN_UNDER_HEADING,
      names: { heading: under },
      words: nounSlots(noun),
    }));
  if (!isWritten(element, view) || !isOnlyName) return references;
  const names = { name, heading: under };
  return [...references, { element, how: 'heading', phrases: wording.UNDER_HEADING, names, words: {} }];
}
