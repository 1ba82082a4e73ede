import type { Action } from '@ui-rl/actions';
import type { Random } from '@ui-rl/random';
import { HOWS, refer, referenceBy, usualReference, type How, type Reference } from '../references';
import { ScreenView } from '../screen/view';
import type { ElementKind, ScreenTruth, TruthElement } from '@ui-rl/page-generator';
import { decorate } from '../wording/decorate';
import * as orders from '../wording/orders';
import { say, type Phrases, type Split } from '../wording/phrases';
import type { Question } from './question';

export interface QuestionOptions {
  /** Maximum questions per screen. */
  count: number;
  split: Split;
  /** Share of references by name, icon or looks instead of those that the screen's questions have used least. */
  usual?: number;
}

/** Share of pointing questions that ask for other mouse buttons or for a move without a click. */
const OTHER_CLICKS = 0.06;
/** Share of non-interactive elements. */
const PASSIVE = 0.25;

/** Containers, which are not targets since they contain many other elements. */
const CONTAINERS: readonly ElementKind[] = [
  'dialog',
  'list',
  'table',
  'table row',
  'menu',
  'scroll container',
  'group',
];
const FIELDS: readonly ElementKind[] = ['text field', 'password field', 'text area', 'spin button'];

/** Instructions to click one element, all unambiguous on this screen. Each names a different element if possible. */
export function pointQuestions(
  truth: ScreenTruth,
  random: Random,
  { count, split, usual = USUAL_SHARE }: QuestionOptions,
): Question[] {
  const view = new ScreenView(truth);
  const used = new Map<How, number>();
  const questions: Question[] = [];
  for (const element of candidates(view, random)) {
    if (questions.length >= count) break;
    const manners = mannersOf(used, random, usual);
    const reference = firstPossible(manners, element, view, random, split);
    if (reference === undefined) continue;
    used.set(reference.how, (used.get(reference.how) ?? 0) + 1);
    questions.push(questionOf(reference, view, random, split));
  }
  return questions;
}

function candidates(view: ScreenView, random: Random): TruthElement[] {
  const possible = view.elements.filter(({ kind, interactive }) => {
    return !CONTAINERS.includes(kind) && (interactive || random.chance(PASSIVE));
  });
  return random.shuffled(possible);
}

/** Common kinds of reference, which are used more often than the others. */
const USUAL: readonly How[] = ['name', 'kind and name', 'icon', 'looks'];
const USUAL_SHARE = 0.45;

/** Kinds of reference in the order to try: with a probability the usual ones, then those least used. */
function mannersOf(used: ReadonlyMap<How, number>, random: Random, usual: number): How[] {
  const byUse = random.shuffled(HOWS).toSorted((a, b) => (used.get(a) ?? 0) - (used.get(b) ?? 0));
  return random.chance(usual) ? [...random.shuffled(USUAL), ...byUse] : byUse;
}

function firstPossible(
  manners: readonly How[],
  element: TruthElement,
  view: ScreenView,
  random: Random,
  split: Split,
): Reference | undefined {
  for (const how of manners) {
    const reference = referenceBy(how, element, view, random, split);
    if (reference !== undefined) return reference;
  }
  return undefined;
}

function questionOf(reference: Reference, view: ScreenView, random: Random, split: Split): Question {
  const { element, how } = reference;
  const other = random.chance(OTHER_CLICKS) ? random.pick(OTHER_POINTERS) : undefined;
  const book = other?.phrases ?? orderFor(element, random);
  const order = () => say(book, { target: refer(reference, random, split) }, random, split);
  const [x, y] = view.pointIn(element);
  const action: Action = { action: other?.action ?? 'click', x, y };
  const target = view.same(element).map(({ id }) => id);
  return { intent: how, goal: decorate(order, random, split), action, target };
}

const OTHER_POINTERS = [
  { action: 'double_click', phrases: orders.DOUBLE_CLICK },
  { action: 'right_click', phrases: orders.RIGHT_CLICK },
  { action: 'move', phrases: orders.HOVER },
] as const;

const GENERAL_ORDERS = 0.6;

/** Phrases for a click on an element: general ones, or those for its kind and state. */
export function orderFor(element: TruthElement, random: Random): Phrases {
  const own = ordersOf(element);
  return own === undefined || random.chance(GENERAL_ORDERS) ? orders.CLICK : own;
}

function ordersOf({ kind, state }: TruthElement): Phrases | undefined {
  if (FIELDS.includes(kind)) return orders.FOCUS;
  if (kind === 'checkbox') return state.checked === true ? orders.UNCHECK : orders.CHECK;
  if (kind === 'toggle') return state.checked === true ? orders.TURN_OFF : orders.TURN_ON;
  if (kind === 'accordion' || kind === 'tree item') {
    if (state.expanded === undefined) return orders.SELECT;
    return state.expanded ? orders.FOLD : orders.UNFOLD;
  }
  return ORDERS[kind];
}

const ORDERS: Partial<Record<ElementKind, Phrases>> = {
  button: orders.PRESS_BUTTON,
  'close button': orders.PRESS_BUTTON,
  link: orders.OPEN,
  tab: orders.SWITCH_TO,
  radio: orders.SELECT,
  option: orders.SELECT,
  'list item': orders.SELECT,
  'menu item': orders.SELECT,
  suggestion: orders.SELECT,
  date: orders.SELECT,
  'grid cell': orders.SELECT,
  shape: orders.SELECT,
  icon: orders.SELECT,
  select: orders.DROP_DOWN,
};

/** An instruction to click an element by its usual reference; undefined if it has no name. */
export function clickOrder(
  element: TruthElement,
  view: ScreenView,
  random: Random,
  split: Split,
): string | undefined {
  const reference = usualReference(element, view, random, split);
  if (reference === undefined) return undefined;
  return say(orderFor(element, random), { target: refer(reference, random, split) }, random, split);
}
