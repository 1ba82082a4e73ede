import { verify, type Action, type Task } from '@ui-rl/plugin-kit';
import type { Goal, Move } from './goal';
import { parseGoal } from './grammar';
import { stepTowards, type Press, type ScreenElement } from './route';
import { keyOf } from './words';

/** What the oracle looks at: `uirl.state()` and `uirl.describe()`. */
export interface Observation {
  state: Record<string, unknown>;
  elements: ScreenElement[];
}

/**
 * The next right action from any state a policy can reach. Looks at what there is, follows no script, so that it also
 * shows the way back from a mistake. Throws where the task is not one of the grammar's.
 */
export function nextAction(task: Pick<Task, 'description'>, { state, elements }: Observation): Action {
  const goal = parseGoal(task.description);
  if (goal === null) throw new Error(`the oracle does not understand the goal "${task.description}"`);
  if (verify(goal.checks, state) === true) return { action: 'finish', success: true };
  const screen = state.screen as string;
  if (screen !== goal.place) return click(elements, stepTowards(screen, goal.place).press);
  return moveAction(openMove(goal, state), elements, state);
}

function openMove(goal: Goal, state: unknown): Move {
  const move = goal.moves.find(({ until }) => verify([until], state) !== true);
  if (move === undefined)
    throw new Error(`nothing is left to do for "${goal.sentence}", yet it is not solved`);
  return move;
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
  // Leaving the screen empties the field.
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

/** What is not on this page of a list is on the other. A list without it ends the way here: one step back. */
function scroll(elements: ScreenElement[]): Action {
  const bar = elements.find(({ kind }) => kind === 'scroll');
  if (bar === undefined) return NAV_BACK;
  return { action: 'scroll', direction: bar.value === 'start' ? 'down' : 'up', amount: 1 };
}
