import type { Goal, Move } from './goal';

/** Elements as Pocket's `describe()` reports them. Boxes are [x, y, width, height] in pixels. */
export interface ScreenElement {
  kind: string;
  label: string;
  box: [number, number, number, number];
  value?: string;
  focused?: boolean;
}

/** The element to press for one step towards a screen. */
export interface Press {
  kind: string;
  label: string;
}

/** Screens that no other screen contains. */
export const ROOTS = new Set(['home', 'alerts', 'lock']);

export function parentOf(screen: string): string {
  return screen.includes('/') ? screen.slice(0, screen.lastIndexOf('/')) : 'home';
}

/** The next step from one screen to another; `label` is given as a key (`wifi`). */
export function stepTowards(from: string, to: string): { press: Press; then: string } {
  if (from === 'lock') return { press: { kind: 'button', label: 'Unlock' }, then: 'home' };
  if (to === 'alerts') return { press: { kind: 'nav', label: 'Alerts' }, then: 'alerts' };
  const inside = to.startsWith(`${from}/`) || (from === 'home' && !ROOTS.has(to));
  if (inside) return descend(from, to);
  const related = from.split('/')[0] === to.split('/')[0];
  if (related) return { press: { kind: 'nav', label: 'Back' }, then: parentOf(from) };
  return { press: { kind: 'nav', label: 'Home' }, then: 'home' };
}

function descend(from: string, to: string): { press: Press; then: string } {
  const base = from === 'home' ? '' : `${from}/`;
  const [part] = to.slice(base.length).split('/');
  const kind = from === 'home' ? 'app' : part === 'new' ? 'add' : 'row';
  return { press: { kind, label: part === 'new' ? 'add' : part }, then: base + part };
}

const MOST_MOVES: Record<Move['kind'], (move: Move) => number> = {
  press: () => 1,
  step: () => 2,
  enter: (move) => (move.kind === 'enter' && move.submit !== null ? 2 : 1),
};

/** The maximum number of actions the oracle needs from a screen, including `finish`, for any seed. */
export function mostActions(goal: Goal, from: string): number {
  let actions = 1;
  let screen = from;
  while (screen !== goal.place) {
    const { then } = stepTowards(screen, goal.place);
    actions += 1 + (screen === 'people' && then !== 'people/new' ? 1 : 0);
    screen = then;
  }
  for (const move of goal.moves) actions += MOST_MOVES[move.kind](move) + extra(move, goal.place);
  return actions;
}

/** A two-page list may need a scroll, a field may need focus. */
function extra(move: Move, place: string): number {
  if (move.kind === 'enter') return place.endsWith('/new') ? 0 : 1;
  return move.kind === 'press' && place === 'store' ? 1 : 0;
}
