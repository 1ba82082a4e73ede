import type { Random } from '@ui-rl/random';
import { refer, referenceBy, type How } from '../references';
import { ScreenView } from '../screen/view';
import type { ElementKind, ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import { asWritten } from '../wording/decorate';
import { NOUNS, type Noun } from '../wording/nouns';
import { say, type Phrases, type Split } from '../wording/phrases';
import * as readings from '../wording/readings';
import { nounSlots, ofNoun } from '../references/reference';
import type { QuestionOptions } from './point';
import type { Reading } from './question';

/** Maximum length of a text to read, in characters. */
const LONGEST = 60;
/** Kinds of reference that do not contain the text to read. */
const BLIND: readonly How[] = [
  'only of its kind',
  'place',
  'beside',
  'row',
  'column',
  'cell',
  'heading',
  'state',
  'extreme',
  'looks',
];
const BY_NAME: readonly How[] = ['name', 'kind and name', 'label', 'beside', 'only of its kind', 'place'];
const VALUED: readonly ElementKind[] = [
  'text field',
  'text area',
  'spin button',
  'select',
  'slider',
  'stepper',
];
const LISTED: readonly ElementKind[] = [
  'tab',
  'menu item',
  'list item',
  'radio',
  'checkbox',
  'button',
  'link',
  'option',
];
const COUNTED: readonly ElementKind[] = [...LISTED, 'icon', 'shape', 'text field', 'toggle', 'image', 'bar'];

/** Questions with a text of the screen as answer, all unambiguous. */
export function readQuestions(
  truth: ScreenTruth,
  random: Random,
  { count, split }: QuestionOptions,
): Reading[] {
  const view = new ScreenView(truth);
  const found: Reading[] = [];
  for (const element of random.shuffled(view.elements)) {
    if (found.length >= count) break;
    const reading = ofElement(element, view, random, split);
    if (reading !== undefined) found.push(reading);
  }
  const all = random.shuffled([...found, ...ofKinds(view, random, split)]);
  return all.slice(0, count);
}

function ofElement(
  element: TruthElement,
  view: ScreenView,
  random: Random,
  split: Split,
): Reading | undefined {
  const { kind, value, name } = element;
  if (VALUED.includes(kind) && value !== undefined && isReadable(value) && view.shows(element, value)) {
    const ask = reading(element, BY_NAME, readings.READ_VALUE, value, view, random, split);
    if (ask !== undefined) return ask;
  }
  if (VALUED.includes(kind) || !isReadable(name) || !view.shows(element, name)) return undefined;
  const book = kind === 'table cell' ? readings.READ_CELL : readings.READ;
  return reading(element, BLIND, book, name, view, random, split);
}

function isReadable(text: string): boolean {
  return text.trim() !== '' && text.length <= LONGEST && !text.includes('\n');
}

function reading(
  element: TruthElement,
  manners: readonly How[],
  book: Phrases,
  answer: string,
  view: ScreenView,
  random: Random,
  split: Split,
): Reading | undefined {
  for (const how of random.shuffled(manners)) {
    const reference = referenceBy(how, element, view, random, split);
    if (reference === undefined || Object.values(reference.names).includes(answer)) continue;
    const goal = () => say(book, { target: refer(reference, random, split) }, random, split);
    return { intent: `read by ${how}`, goal: asWritten(goal, random), answer: answer.trim() };
  }
  return undefined;
}

/** Lists and counts of the elements of one kind. */
function ofKinds(view: ScreenView, random: Random, split: Split): Reading[] {
  return NOUNS.flatMap((noun) => {
    const all = ofNoun(noun, view);
    return [...listOf(noun, all, view, random, split), ...countOf(noun, all, random, split)];
  });
}

function listOf(
  noun: Noun,
  all: readonly TruthElement[],
  view: ScreenView,
  random: Random,
  split: Split,
): Reading[] {
  if (
    all.length < 2 ||
    !all.every((each) => LISTED.includes(each.kind) && isReadable(each.name) && view.shows(each, each.name))
  )
    return [];
  const answer = all
    .toSorted((a, b) => a.center[1] - b.center[1] || a.center[0] - b.center[0])
    .map(({ name }) => name)
    .join(', ');
  if (answer.length > LONGEST || !isInOrder(all)) return [];
  return [{ intent: 'read a list', goal: asked(readings.READ_LIST, noun, random, split), answer }];
}

/** Whether all elements have a top-to-bottom order. */
function isInOrder(all: readonly TruthElement[]): boolean {
  const tops = all.map(({ center }) => center[1]).toSorted((a, b) => a - b);
  return (
    tops.every((top, i) => i === 0 || top - tops[i - 1] >= 4) || new Set(tops.map(Math.round)).size === 1
  );
}

function countOf(noun: Noun, all: readonly TruthElement[], random: Random, split: Split): Reading[] {
  if (all.length < 2 || !all.every(({ kind }) => COUNTED.includes(kind))) return [];
  return [{ intent: 'count', goal: asked(readings.COUNT, noun, random, split), answer: `${all.length}` }];
}

function asked(book: Phrases, noun: Noun, random: Random, split: Split): string {
  const { noun: words, nouns } = nounSlots(noun);
  const which = random.below(words.length);
  return asWritten(() => say(book, { noun: words[which], nouns: nouns[which] }, random, split), random);
}
