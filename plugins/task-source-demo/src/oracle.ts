import { verify, type Action, type Task } from '@ui-rl/plugin-kit';
import type { Goal, Move } from './goal';
import { parseGoal } from './grammar';
import { stepTowards, type Press, type ScreenElement } from './route';
import { keyOf } from './words';

/** The results of `uirl.state()` and `uirl.describe()`. */
export interface Observation {
  state: Record<string, unknown>;
  elements: ScreenElement[];
}

/**
 * The next correct action from any state a policy can reach. Not scripted, so it also demonstrates recovery from
 * mistakes. It uses only visible information: if a goal already holds but the screen does not show it, it navigates
 * there to look, as a policy that sees only pixels must. Throws if the task is not from the grammar.
 */
export function nextAction(task: Pick<Task, 'description'>, { state, elements }: Observation): Action {
  const goal = parseGoal(task.description);
  if (goal === null) throw new Error(`the oracle does not understand the goal "${task.description}"`);
  const screen = state.screen as string;
  const isSolved = verify(goal.checks, state) === true;
  if (isSolved && screen === goal.shown && showsMoves(goal, elements)) {
    return { action: 'finish', success: true };
  }
  const target = isSolved && hasRow(elements, goal.shown) ? goal.shown : goal.place;
  if (screen !== target) return click(elements, stepTowards(screen, target).press);
  return moveAction(openMove(goal, state), elements, state);
}

/** On a list of several pages, the result may be on another page. */
function showsMoves({ place, moves }: Goal, elements: ScreenElement[]): boolean {
  if (place !== 'store') return true;
  return moves.every((move) => move.kind !== 'press' || elements.some(({ label }) => label === move.label));
}

function hasRow(elements: ScreenElement[], screen: string): boolean {
  const name = screen.split('/').at(-1)!;
  return elements.some(({ kind, label }) => kind === 'row' && keyOf(label) === name);
}

/** The first remaining move; a move whose result is not visible here is repeated. */
function openMove({ moves }: Goal, state: unknown): Move {
  return moves.find(({ until }) => verify([until], state) !== true) ?? moves[0];
}

function moveAction(move: Move, elements: ScreenElement[], state: Record<string, unknown>): Action {
  if (move.kind === 'press') return click(elements, { kind: move.element, label: move.label });
  if (move.kind === 'enter') return enterText(move, elements);
  const value = Number(move.path.split('.').reduce<unknown>(child, state));
  return click(elements, { kind: value < move.to ? 'plus' : 'minus', label: move.label });
}

function child(node: unknown, part: string): unknown {
  return (node as Record<string, unknown>)[part];
}

function enterText(move: Extract<Move, { kind: 'enter' }>, elements: ScreenElement[]): Action {
  const field = elements.find(({ kind }) => kind === 'field');
  if (field === undefined) return scroll(elements);
  if (field.value === move.text && move.submit !== null) {
    return click(elements, { kind: 'button', label: move.submit });
  }
  // Leaving the screen clears the field.
  if (field.value !== '') return click(elements, { kind: 'nav', label: 'Back' });
  return field.focused === true ? { action: 'type', text: move.text } : clickAt(field);
}

function click(elements: ScreenElement[], { kind, label }: Press): Action {
  const found = elements.find((element) => element.kind === kind && keyOf(element.label) === keyOf(label));
  return found === undefined ? scroll(elements) : clickAt(found);
}

function clickAt({ box: [x, y, width, height] }: ScreenElement): Action {
  return { action: 'click', x: x + width / 2, y: y + height / 2 };
}

const NAV_BACK: Action = { action: 'click', x: 32, y: 208 };

/**
 * An element that is not on this page of a list is on the other one. On a screen without a list the path is wrong, so
 * go back one step.
 */
function scroll(elements: ScreenElement[]): Action {
  const bar = elements.find(({ kind }) => kind === 'scroll');
  if (bar === undefined) return NAV_BACK;
  return { action: 'scroll', direction: bar.value === 'start' ? 'down' : 'up', amount: 1 };
}
