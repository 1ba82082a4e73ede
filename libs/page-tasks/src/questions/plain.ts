import type { Action } from '@ui-rl/actions';
import type { Random } from '@ui-rl/random';
import { refer, usualReference } from '../references';
import { ScreenView } from '../screen/view';
import type { ElementKind, ScreenTruth } from '@ui-rl/page-generator';
import { decorate } from '../wording/decorate';
import { isSayable, mentionExactly } from '../wording/mention';
import * as orders from '../wording/orders';
import { say, type Split } from '../wording/phrases';
import { marked } from '../wording/provenance';
import type { Question } from './question';

const FIELDS: readonly ElementKind[] = ['text field', 'password field', 'text area', 'spin button'];

/** Instructions to type texts; half of them name the focused field, if there is one. */
export function copyQuestions(
  truth: ScreenTruth,
  texts: readonly string[],
  random: Random,
  split: Split,
): Question[] {
  const view = new ScreenView(truth);
  const field = view.elements.find(({ kind, state }) => state.focused === true && FIELDS.includes(kind));
  return texts.filter(isSayable).map((text) => {
    const said = mentionExactly(text, random);
    const reference =
      field !== undefined && random.chance(0.5) ? usualReference(field, view, random, split) : undefined;
    const order = () =>
      reference === undefined
        ? say(orders.TYPE_FOCUSED, { text: said }, random, split)
        : say(orders.TYPE_INTO, { text: said, target: refer(reference, random, split) }, random, split);
    const goal = decorate(order, random, split, said);
    return { intent: 'copy', goal, action: { action: 'type', text }, target: [] };
  });
}

/** Keys by their names in the action format, and their common names. */
const KEYS: readonly (readonly [keys: string[], words: readonly string[]])[] = [
  [['enter'], ['enter', 'return', 'Enter', 'Return']],
  [['escape'], ['escape', 'esc', 'Esc', 'Escape']],
  [['tab'], ['tab', 'Tab', 'tabulator']],
  [['backspace'], ['backspace', 'Backspace']],
  [['delete'], ['delete', 'Delete', 'del']],
  [['space'], ['space', 'space bar', 'Space']],
  [['up'], ['up arrow', 'arrow up', 'Up']],
  [['down'], ['down arrow', 'arrow down', 'Down']],
  [['left'], ['left arrow', 'arrow left', 'Left']],
  [['right'], ['right arrow', 'arrow right', 'Right']],
  [['home'], ['home', 'Home']],
  [['end'], ['end', 'End']],
  [['page_down'], ['page down', 'Page Down', 'PgDn']],
  [['page_up'], ['page up', 'Page Up', 'PgUp']],
  [
    ['ctrl', 'a'],
    ['ctrl+a', 'Ctrl+A', 'control and a', 'Ctrl-A'],
  ],
  [
    ['ctrl', 'c'],
    ['ctrl+c', 'Ctrl+C', 'control and c', 'Ctrl-C'],
  ],
  [
    ['ctrl', 'v'],
    ['ctrl+v', 'Ctrl+V', 'control and v', 'Ctrl-V'],
  ],
  [
    ['ctrl', 'x'],
    ['ctrl+x', 'Ctrl+X', 'control and x', 'Ctrl-X'],
  ],
  [
    ['ctrl', 'z'],
    ['ctrl+z', 'Ctrl+Z', 'control and z', 'Ctrl-Z'],
  ],
];
const DIRECTIONS = ['down', 'down', 'down', 'up', 'up', 'left', 'right'] as const;

/** An instruction to press a key whose name is not on the screen. */
export function keyQuestion(truth: ScreenTruth, random: Random, split: Split): Question {
  const view = new ScreenView(truth);
  const free = KEYS.filter(([, words]) => words.every((word) => view.named(word).length === 0));
  const [keys, words] = random.pick(free);
  const order = () => say(orders.PRESS_KEY, { key: marked(random.pick(words)) }, random, split);
  return { intent: 'key', goal: decorate(order, random, split), action: { action: 'key', keys }, target: [] };
}

/** Mouse-wheel notches per scroll action of a solver. */
export const NOTCHES = 3;

/** An instruction to scroll the page, or a scroll container if there is one. */
export function scrollQuestion(truth: ScreenTruth, random: Random, split: Split): Question {
  const view = new ScreenView(truth);
  const direction = random.pick(DIRECTIONS);
  const container = view.elements.find(({ kind }) => kind === 'scroll container');
  const reference = container === undefined ? undefined : usualReference(container, view, random, split);
  const page: Action = { action: 'scroll', direction, amount: NOTCHES };
  if (container === undefined || reference === undefined) {
    const order = () => say(orders.SCROLL, { direction }, random, split);
    return { intent: 'scroll', goal: decorate(order, random, split), action: page, target: [] };
  }
  const order = () =>
    say(orders.SCROLL_IN, { direction, target: refer(reference, random, split) }, random, split);
  const [x, y] = view.pointIn(container);
  const goal = decorate(order, random, split);
  return { intent: 'scroll', goal, action: { ...page, x, y }, target: [container.id] };
}
